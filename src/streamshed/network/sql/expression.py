"""SQL expressions over one row: which columns they use, how to rename those, how to split conjunctions."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from sqlglot import exp

from streamshed.errors import InvalidExpressionError, Problem
from streamshed.network.sql.canonical_sql import canonical_sql
from streamshed.network.sql.sql_meaning import column_uses, lambda_variables, row_problem
from streamshed.network.sql.sql_syntax import Syntax, Token, Tree, matching_pairs, read_sql
from streamshed.network.words.given import is_text


@dataclass(frozen=True, slots=True)
class Expression:
    """An SQL expression that gives one value for one row; made by `parse_expression`.

    Two expressions are equal when their canonical texts are.

    Attributes:
        text: As written, without comments around it.
        columns: The columns it uses, as written; `Size` and `size` are one column, as in Spark.
        canonical: The text that all its trivial variants share.
    """

    text: str = field(compare=False)
    columns: frozenset[str] = field(compare=False)
    canonical: str

    def __str__(self) -> str:
        return self.text

    def with_columns(self, columns: frozenset[str]) -> "Expression":
        """Return the same expression with its columns spelled otherwise."""
        return replace(self, columns=columns)


def parse_expression(text: str) -> Expression:
    """Read an SQL expression of Spark over one row.

    Args:
        text: The expression, such as `dest_port IN (80, 443)`.

    Raises:
        InvalidExpressionError: It cannot be parsed (with the position), or does not give one value for one
            row: aggregates, window functions, subqueries, generators.

    Example:
        >>> expression = parse_expression("size > 3 AND flags.syn")
        >>> sorted(expression.columns), expression.canonical
        (['flags', 'size'], 'size > 3 and flags.syn')
        >>> parse_expression("size > > 3")
        Traceback (most recent call last):
        streamshed.errors.InvalidExpressionError: cannot parse "size > > 3" at character 8: unexpected ">"
    """
    if not is_text(text):
        raise InvalidExpressionError(Problem("an expression is SQL text", got=repr(text)))
    return _parsed(text)


@lru_cache(maxsize=16384)
def _parsed(text: str) -> Expression:
    syntax = read_sql(text)
    if (problem := row_problem(syntax)) is not None:
        raise InvalidExpressionError(f'"{text}" is no expression over one row: {problem}')
    names: dict[str, str] = {}
    for use in column_uses(syntax):
        names.setdefault(use.name.lower(), use.name)
    trimmed = text[syntax.tokens[0].start : syntax.tokens[-1].end]
    return Expression(trimmed, frozenset(names.values()), canonical_sql(syntax))


def rename_columns(expression: Expression, names: Mapping[str, str]) -> str:
    """Write an expression over other column names, everything else left as it was written.

    Args:
        expression: The expression.
        names: New name by present name, whatever its case; columns that are not in it keep theirs.

    Returns:
        SQL text. New names are backquoted; of `a.b` only the column `a` is renamed.

    Raises:
        InvalidExpressionError: A lambda of the expression binds a new name, which would be captured.

    Example:
        >>> rename_columns(parse_expression("size * 2 > length('size')"), {"Size": "c1"})
        "`c1` * 2 > length('size')"
    """
    new_names = {old.lower(): new for old, new in names.items()}
    syntax = read_sql(expression.text)
    bound = lambda_variables(syntax)
    pieces = []
    end = 0
    for use in column_uses(syntax):
        new_name = new_names.get(use.name.lower())
        if new_name is None:
            continue
        if new_name.lower() in bound:
            raise InvalidExpressionError(
                f'cannot rename "{use.name}" to "{new_name}" in "{expression.text}": a lambda binds that name'
            )
        pieces += [expression.text[end : use.start], quoted(new_name)]
        end = use.end
    return "".join([*pieces, expression.text[end:]])


def quoted(name: str) -> str:
    """Backquote a column name.

    Example:
        >>> quoted("a`b")
        '`a``b`'
    """
    return "`" + name.replace("`", "``") + "`"


def conjuncts(expression: Expression) -> tuple[Expression, ...]:
    """Split an expression at its outermost ANDs, in order, each part with its exact source text.

    Example:
        >>> [str(part) for part in conjuncts(parse_expression("a  > 1 AND (b BETWEEN 1 AND 2 AND c OR d)"))]
        ['a  > 1', 'b BETWEEN 1 AND 2 AND c OR d']
    """
    return tuple(parse_expression(text) for text in _split(expression.text))


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """An operation on two operands, each with its exact source text.

    Attributes:
        operator: One of + - * /.
        first: The first operand.
        second: The second.
    """

    operator: str
    first: Expression
    second: Expression


_PRECEDENCE: tuple[Mapping[str, type[Tree]], ...] = ({"+": exp.Add, "-": exp.Sub}, {"*": exp.Mul, "/": exp.Div})
"""What binds least first."""


def arithmetic(expression: Expression) -> Arithmetic | None:
    """Split an expression at its outermost +, -, * or /; None: it is something else.

    Example:
        >>> found = arithmetic(parse_expression("(a - -b * 2 - f(c + d))"))
        >>> found.operator, found.first.text, found.second.text
        ('-', 'a - -b * 2', 'f(c + d)')
        >>> arithmetic(parse_expression("a + b > 3")) is None
        True
    """
    syntax = read_sql(expression.text)
    tokens = _unwrapped(syntax.tokens)
    tree = syntax.tree.unnest()
    outer = list(_outermost(tokens))
    for operators in _PRECEDENCE:
        for index in reversed(outer):
            kind = operators.get(tokens[index].text)
            if kind is None or not isinstance(tree, kind) or index == 0:
                continue
            texts = [_text(syntax, _unwrapped(part)) for part in (tokens[:index], tokens[index + 1 :])]
            if _are_sources_of(texts, (tree.this, tree.expression)):
                return Arithmetic(tokens[index].text, *map(parse_expression, texts))
    return None


def _outermost(tokens: tuple[Token, ...]) -> Iterator[int]:
    """The places of the symbols + - * / that stand in no bracket and no CASE, after something and before something."""
    depth = 0
    for index, token in enumerate(tokens[:-1]):
        if token.is_symbol("(", "[") or token.is_word("case"):
            depth += 1
        elif token.is_symbol(")", "]") or token.is_word("end"):
            depth -= 1
        elif depth == 0 and token.is_symbol("+", "-", "*", "/") and not tokens[index - 1].is_symbol(*"+-*/%"):
            yield index


@lru_cache(maxsize=16384)
def _split(text: str) -> tuple[str, ...]:
    syntax = read_sql(text)
    inner = _unwrapped(syntax.tokens)
    if len(inner) < len(syntax.tokens):
        syntax = read_sql(_text(syntax, inner))
    sides = _chained(syntax.tree)
    if len(sides) == 1:
        return (syntax.text,)
    parts = [_text(syntax, _unwrapped(tokens)) for tokens in _between_ands(syntax.tokens)]
    if len(parts) != len(sides) or not all(map(_is_source_of, parts, sides)):
        return (syntax.text,)
    return tuple(conjunct for part in parts for conjunct in _split(part))


def _text(syntax: Syntax, tokens: tuple[Token, ...]) -> str:
    return syntax.text[tokens[0].start : tokens[-1].end]


def _is_source_of(text: str, tree: Tree) -> bool:
    return read_sql(text).tree == tree.unnest()


def _are_sources_of(texts: Sequence[str], trees: Sequence[Tree]) -> bool:
    """Whether texts are what trees were read from; those that were cut in the wrong place may be no expressions."""
    try:
        return all(map(_is_source_of, texts, trees))
    except InvalidExpressionError:
        return False


def _unwrapped(tokens: tuple[Token, ...]) -> tuple[Token, ...]:
    """The tokens without parentheses around all of them."""
    pairs = set(matching_pairs(tokens))
    depth = 0
    while tokens[depth].text == "(" and (depth, len(tokens) - 1 - depth) in pairs:
        depth += 1
    return tokens[depth : len(tokens) - depth]


def _chained(tree: Tree) -> list[Tree]:
    """The operands of the outermost chain of ANDs, in order."""
    sides = []
    while isinstance(tree, exp.And):
        sides.append(tree.expression)
        tree = tree.this
    return [tree, *reversed(sides)]


def _between_ands(tokens: tuple[Token, ...]) -> list[tuple[Token, ...]]:
    """The tokens between the ANDs that stand in no bracket, CASE or BETWEEN."""
    parts = []
    depth = betweens = first = 0
    for index, token in enumerate(tokens):
        if token.is_symbol("(", "[") or token.is_word("case"):
            depth += 1
        elif depth and (token.is_symbol(")", "]") or token.is_word("end")):
            depth -= 1
        elif depth == 0 and token.is_word("between"):
            betweens += 1
        elif depth == 0 and token.is_word("and") and betweens:
            betweens -= 1
        elif depth == 0 and token.is_word("and"):
            parts.append(tokens[first:index])
            first = index + 1
    return [*parts, tokens[first:]]
