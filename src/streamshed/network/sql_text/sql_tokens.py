"""The tokens of SQL text with their places, so that every clause is a piece of the text as it was written."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from streamshed.network.sql.sql_syntax import Token, TokenKind

Tokens: TypeAlias = tuple[Token, ...]

_PIECE = re.compile(
    r"""(?P<space>\s+)
    |(?P<hint>/\*\+.*?\*/|--[ \t]*streamshed:[^\n]*)
    |(?P<comment>--[^\n]*|/\*.*?\*/)
    |(?P<string>'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*")
    |(?P<quoted>`(?:[^`]|``)+`)
    |(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\w*)
    |(?P<word>[^\W\d]\w*)
    |(?P<symbol><=>|=>|<=|>=|<>|!=|==|\|\||->|::|.)""",
    re.VERBOSE | re.DOTALL,
)
_KINDS = {
    "string": TokenKind.STRING,
    "quoted": TokenKind.QUOTED,
    "number": TokenKind.NUMBER,
    "word": TokenKind.WORD,
    "symbol": TokenKind.SYMBOL,
}
_HINT = re.compile(r"/\*\+|\*/|--[ \t]*streamshed:")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "b": "\b", "Z": "\x1a"}


class SqlRefusal(Exception):  # noqa: N818 - it never leaves this package: who reads a statement reports it
    """A piece of SQL text that cannot be taken.

    Args:
        tokens: Where it stands; none: at the end of the statement.
        message: What is wrong, and what to write instead.
        near_miss: The word that was probably meant.
    """

    def __init__(self, tokens: Sequence[Token], message: str, near_miss: str | None = None) -> None:
        super().__init__(message)
        self.tokens = tuple(tokens)
        self.message = message
        self.near_miss = near_miss


@dataclass(frozen=True, slots=True)
class Statement:
    """What stands between two semicolons.

    Attributes:
        tokens: Without comments.
        hint: The tokens of its hint comment; empty: there is none.
    """

    tokens: tuple[Token, ...]
    hint: tuple[Token, ...]


def statements_of(text: str) -> Iterator[Statement]:
    r"""Cut text into statements. A hint comment belongs to the statement in which, or before which, it stands.

    Example:
        >>> text = "SELECT 1; -- no\n SELECT /*+ KEEP EXACT */ 2"
        >>> [(len(each.tokens), len(each.hint)) for each in statements_of(text)]
        [(2, 0), (2, 2)]
    """
    tokens: list[Token] = []
    hint: list[Token] = []
    for token, is_hint in _pieces(text):
        if is_hint:
            hint.append(token)
        elif token.is_symbol(";"):
            if tokens or hint:
                yield Statement(tuple(tokens), tuple(hint))
            tokens, hint = [], []
        else:
            tokens.append(token)
    if tokens or hint:
        yield Statement(tuple(tokens), tuple(hint))


def tokens_of(text: str) -> tuple[Token, ...]:
    """The tokens of SQL text, without comments."""
    return tuple(token for token, is_hint in _pieces(text) if not is_hint)


def _pieces(text: str, offset: int = 0) -> Iterator[tuple[Token, bool]]:
    for match in _PIECE.finditer(text):
        start = offset + match.start()
        if match.lastgroup == "hint":
            inside = _HINT.sub(lambda edge: " " * len(edge[0]), match[0])
            yield from ((token, True) for token, _ in _pieces(inside, start))
        elif match.lastgroup in _KINDS:
            yield Token(_KINDS[match.lastgroup], match[0], start, offset + match.end()), False


def name_of(token: Token) -> str:
    """The name that a word or a backquoted word is."""
    return token.text[1:-1].replace("``", "`") if token.kind is TokenKind.QUOTED else token.text


def is_name(token: Token | None) -> bool:
    """Whether a token can be a name."""
    return token is not None and token.kind in {TokenKind.WORD, TokenKind.QUOTED}


def string_value(token: Token) -> str:
    r"""What a string literal says: a doubled quote is one, and a backslash escapes.

    Example:
        >>> string_value(tokens_of(r"'it''s \\ \'fine\''")[0])
        "it's \\ 'fine'"
    """
    quote = token.text[0]
    inside = token.text[1:-1].replace(quote * 2, quote)
    return _ESCAPE.sub(lambda match: _ESCAPED.get(match[1], match[1]), inside)


def spelled(tokens: Sequence[Token]) -> str:
    """One spelling of what differs only in case and space, for comparing.

    Example:
        >>> spelled(tokens_of("`Size`  DIV 3")) == spelled(tokens_of("size div 3"))
        True
    """
    return " ".join(token.text if token.kind is TokenKind.STRING else name_of(token).lower() for token in tokens)
