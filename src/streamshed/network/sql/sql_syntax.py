"""Spark's SQL expressions as tokens and trees, by sqlglot.

The parser has no function builders: those rewrite and drop arguments, and every column must keep its place.
"""

import ctypes
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from itertools import pairwise
from typing import Any, TypeAlias

import sqlglot
from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ParseError, TokenError
from sqlglot.parsers.spark import SparkParser

from streamshed.errors import InvalidExpressionError, Problem

_BEFORE = "SELECT ("
_AFTER = "\n)"
_CLOSING = {")": "(", "]": "["}
_NUMBER = re.compile(r"((?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?)(f|d|bd)?", re.IGNORECASE)
"""A number as Spark's SQL writes it, with the letters of its type; those of whole numbers are left out."""

Tree: TypeAlias = exp.Expr


class _RowExpressionParser(SparkParser):
    FUNCTIONS = {}  # noqa: RUF012 - sqlglot declares it so

    def _parse_paren(self) -> Any:
        opening = self._curr
        node = super()._parse_paren()
        if isinstance(node, exp.Paren):
            node.meta["start"] = opening.start
            node.meta["end"] = self._prev.end
        return node


class TokenKind(Enum):
    """What a token is, as far as naming and comparing expressions need to know."""

    WORD = "word"
    QUOTED = "quoted"
    STRING = "string"
    NUMBER = "number"
    SYMBOL = "symbol"


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of an expression: its exact text, and its place [start, end) in the source."""

    kind: TokenKind
    text: str
    start: int
    end: int

    def is_word(self, *words: str) -> bool:
        """Whether this is one of the given lower-case words, not quoted."""
        return self.kind is TokenKind.WORD and self.text.lower() in words

    def is_symbol(self, *symbols: str) -> bool:
        """Whether this is one of the given symbols."""
        return self.kind is TokenKind.SYMBOL and self.text in symbols


@dataclass(frozen=True, slots=True, eq=False)
class Syntax:
    """An expression that was read: never change its tree.

    Attributes:
        text: Its source.
        tokens: Its tokens, without comments.
        tree: Its tree.
        nodes: All nodes of the tree, which takes time to walk.
    """

    text: str
    tokens: tuple[Token, ...]
    tree: Tree
    nodes: tuple[Tree, ...]

    def place(self, node: Tree) -> tuple[int, int]:
        """Where an identifier or a pair of parentheses stands in the source: [start, end)."""
        return node.meta["start"] - len(_BEFORE), node.meta["end"] + 1 - len(_BEFORE)


@lru_cache(maxsize=2048)
def read_sql(text: str) -> Syntax:
    """Read one SQL expression of Spark.

    Raises:
        InvalidExpressionError: It cannot be parsed, with the position of what is not understood.

    Example:
        >>> [token.text for token in read_sql("a.`b c` >= 1L -- why").tokens]
        ['a', '.', '`b c`', '>=', '1L']
        >>> read_sql("size > 3)")
        Traceback (most recent call last):
        streamshed.errors.InvalidExpressionError: cannot parse "size > 3)" at character 9: ")" closes nothing
    """
    source = _BEFORE + text + _AFTER
    dialect = Spark()
    try:
        raw = dialect.tokenize(source)
        tokens = _tokens(text, raw)
        _check_brackets(text, tokens)
        parser = _RowExpressionParser(dialect=dialect, error_level=sqlglot.ErrorLevel.RAISE)
        statement = parser.parse(raw, source)[0]
    except TokenError as error:
        raise InvalidExpressionError(f'cannot read "{text}": is a quote left open?') from error
    except ParseError as error:
        raise _syntax_error(text, error) from error
    except RecursionError as error:
        raise InvalidExpressionError(f'"{text[:80]}..." is nested too deeply') from error
    tree = _single_expression(text, statement)
    syntax = Syntax(text, tokens, tree, tuple(tree.walk()))
    _check_shifts(syntax)
    return syntax


def matching_pairs(tokens: tuple[Token, ...]) -> Iterator[tuple[int, int]]:
    """Yield the indexes of each opening parenthesis and of the one that closes it."""
    open_indexes = []
    for index, token in enumerate(tokens):
        if token.is_symbol("("):
            open_indexes.append(index)
        elif token.is_symbol(")"):
            yield open_indexes.pop(), index


def sql_number(text: str) -> float | None:
    """Read a number as Spark does; None: the text is no number.

    Example:
        >>> sql_number("0.5"), sql_number(".5D"), sql_number("5e-1bd"), sql_number("0.1F"), sql_number("0.5X")
        (0.5, 0.5, 0.5, 0.10000000149011612, None)
    """
    number_match = _NUMBER.fullmatch(text)
    if number_match is None:
        return None
    number = float(number_match[1])
    return ctypes.c_float(number).value if number_match[2] in {"f", "F"} else number


def _tokens(text: str, raw: list[Any]) -> tuple[Token, ...]:
    """The tokens between what is put around the text; the tokenizer makes three of `1L`, in one place."""
    tokens: list[Token] = []
    for token in raw[2:-1]:
        start = token.start - len(_BEFORE)
        if not tokens or start >= tokens[-1].end:
            end = token.end + 1 - len(_BEFORE)
            tokens.append(Token(_kind(text[start:end]), text[start:end], start, end))
    return tuple(tokens)


def _kind(source: str) -> TokenKind:
    first = source[0]
    if first == "`":
        return TokenKind.QUOTED
    if source[-1] in "'\"":
        return TokenKind.STRING
    if first.isdigit() or (first == "." and len(source) > 1):
        return TokenKind.NUMBER
    return TokenKind.WORD if first.isalpha() or first == "_" else TokenKind.SYMBOL


def _single_expression(text: str, statement: Tree | None) -> Tree:
    if not isinstance(statement, exp.Select) or len(statement.expressions) != 1:
        raise InvalidExpressionError(f'"{text}" is no expression: backquote a column named like a keyword')
    tree = statement.expressions[0]
    if isinstance(tree, exp.Paren):
        tree = tree.this
    if isinstance(tree, exp.Tuple):
        raise InvalidExpressionError(f'"{text}" holds several expressions, expected one')
    if isinstance(tree, exp.Alias):
        raise InvalidExpressionError(f'"{text}" is no expression: is an operator missing before "{tree.alias}"?')
    if not isinstance(tree, exp.Expr):
        raise InvalidExpressionError(f'"{text}" is no expression')
    return tree


def _check_brackets(text: str, tokens: tuple[Token, ...]) -> None:
    if not tokens:
        raise InvalidExpressionError("the expression is empty")
    waiting: list[Token] = []
    for token in tokens:
        if token.is_symbol(";"):
            raise _unreadable(text, token.start, '";" ends no expression')
        if token.is_symbol("(", "["):
            waiting.append(token)
        elif token.is_symbol(*_CLOSING) and (not waiting or waiting.pop().text != _CLOSING[token.text]):
            raise _unreadable(text, token.start, f'"{token.text}" closes nothing')
    if waiting:
        raise _unreadable(text, waiting[-1].start, f'"{waiting[-1].text}" is never closed')


def _check_shifts(syntax: Syntax) -> None:
    """The parser takes `> >` for `>>`, Spark does not."""
    if not any(isinstance(node, exp.BitwiseLeftShift | exp.BitwiseRightShift) for node in syntax.nodes):
        return
    for left, right in pairwise(syntax.tokens):
        if left.text == right.text and left.is_symbol("<", ">") and left.end != right.start:
            raise _unreadable(syntax.text, right.start, f'unexpected "{right.text}"')


def _unreadable(text: str, at: int, why: str) -> InvalidExpressionError:
    return InvalidExpressionError(Problem(f'cannot parse "{text}" at character {at + 1}: {why}', at=at))


def _syntax_error(text: str, error: ParseError) -> InvalidExpressionError:
    if not error.errors:
        return InvalidExpressionError(f'cannot parse "{text}"')
    first_error = error.errors[0]
    before = sum(len(line) + 1 for line in text.split("\n")[: first_error["line"] - 1])
    prefix = len(_BEFORE) if first_error["line"] == 1 else 0
    token = first_error["highlight"]
    at = before + first_error["col"] - prefix - len(token)
    if at >= len(text):
        return InvalidExpressionError(f'cannot parse "{text}": something is missing')
    return _unreadable(text, at, f'unexpected "{token}"')
