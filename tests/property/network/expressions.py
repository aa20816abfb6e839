"""Random expressions that Spark and DuckDB read alike, and their values by DuckDB."""

from collections.abc import Mapping, Sequence

import duckdb
from hypothesis import strategies as st

COLUMNS = ("a", "b", "Size", "x y", "and", "date")
_ROWS = ((1, 2, 3, 0, -1, 5), (None, 0, 1, 1, 1, None), (-2, None, 7, None, 0, 2), (4, 4, 4, 4, 4, 4))
_PLAIN_COLUMNS = ("a", "b", "Size", "date")


@st.composite
def _column(draw: st.DrawFn) -> str:
    name = draw(st.sampled_from(COLUMNS))
    if name not in _PLAIN_COLUMNS or draw(st.booleans()):
        return f"`{name}`"
    return draw(st.sampled_from([name, name.upper(), name.lower()]))


def _spaces() -> st.SearchStrategy[str]:
    return st.sampled_from([" ", " ", "  ", "\n", " /* Size */ "])


@st.composite
def _in_parentheses(draw: st.DrawFn, parts: st.SearchStrategy[str]) -> str:
    return f"({draw(st.sampled_from(['', ' ']))}{draw(parts)})"


def _wrapped(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(parts, _in_parentheses(parts), _in_parentheses(_in_parentheses(parts)))


@st.composite
def _infix(draw: st.DrawFn, operand: st.SearchStrategy[str], operators: Sequence[str]) -> str:
    operator = f"{draw(_spaces())}{draw(st.sampled_from(operators))}{draw(_spaces())}"
    return operator.join(draw(st.lists(operand, min_size=2, max_size=3)))


_atoms = st.one_of(_column(), st.integers(0, 20).map(str))


def _arithmetic_over(operand: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    # Deeper levels are always put in parentheses, so that the meaning is that of the tree drawn here.
    return st.one_of(
        _infix(_in_parentheses(operand), ["+", "-", "*"]),
        _infix(_atoms, ["+", "-", "*"]),
        operand.map(lambda inside: f"coalesce({inside}, Size)"),
    )


arithmetic = st.recursive(_wrapped(_atoms), lambda operand: _wrapped(_arithmetic_over(operand)), max_leaves=6)
_sides = st.one_of(_atoms, _in_parentheses(arithmetic))


@st.composite
def _test(draw: st.DrawFn) -> str:
    one, two, three = draw(_sides), draw(_sides), draw(_sides)
    comparison = draw(st.sampled_from(["=", "<>", "!=", "<", "<=", ">", ">=", "=="]))
    negation = draw(st.sampled_from(["", "NOT ", "not "]))
    return draw(
        st.sampled_from([
            f"{one} {comparison} {two}",
            f"{one} {negation}BETWEEN {two} AND {three}",
            f"{one} {negation}in ({two}, 3)",
            f"{one} is {negation}null",
            f"case when {one} > {two} then 'Size' else 'and' end = 'Size'",
            f"CAST({one} AS bigint) {comparison} {two}",
        ])
    )


def _logic_over(operand: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        _infix(_in_parentheses(operand), ["and", "OR", "AND", "or"]),
        _infix(_test(), ["and", "OR", "AND", "or"]),
        _in_parentheses(operand).map(lambda inside: f"NOT {inside}"),
    )


predicates = st.recursive(_wrapped(_test()), lambda operand: _wrapped(_logic_over(operand)), max_leaves=6)


def values(connection: duckdb.DuckDBPyConnection, sql: str, names: Mapping[str, str] | None = None) -> list[object]:
    """Evaluate an expression for a few rows; the columns are called as `names` says."""
    columns = ", ".join(f'"{(names or {}).get(name, name)}"' for name in COLUMNS)
    rows = ", ".join(str(row).replace("None", "NULL::bigint") for row in _ROWS)
    as_duckdb_quotes = sql.replace("`", '"').replace("==", "=")
    statement = f"SELECT {as_duckdb_quotes} FROM (VALUES {rows}) AS t({columns})"
    return [value for (value,) in connection.execute(statement).fetchall()]
