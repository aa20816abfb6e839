"""Random expressions that Spark and DuckDB read alike, and their values by DuckDB."""

from collections.abc import Mapping

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


_atoms = st.one_of(_column(), st.integers(0, 20).map(str))
_spaces = st.sampled_from([" ", " ", "  ", "\n", " /* Size */ "])
_deep = st.sampled_from([True, True, False])


@st.composite
def _joined(draw: st.DrawFn, operands: list[str], operators: list[str]) -> str:
    """Operands with any of some operators between them."""
    joined = operands[0]
    for operand in operands[1:]:
        joined += draw(_spaces) + draw(st.sampled_from(operators)) + draw(_spaces) + operand
    return draw(st.sampled_from([joined, joined, f"( {joined})"]))


def _in_parentheses(text: str) -> str:
    """What is deeper is put in parentheses, so that the meaning is that of the tree drawn here."""
    return f"({text})"


@st.composite
def arithmetic_of(draw: st.DrawFn, depth: int) -> str:
    """An expression with a whole number as its value."""
    if depth == 0:
        return draw(_atoms)
    count = draw(st.integers(2, 3))
    deeper = arithmetic_of(depth - 1).map(_in_parentheses)
    operands = [draw(deeper) if draw(_deep) else draw(_atoms) for _ in range(count)]
    if draw(st.integers(0, 4)) == 0:
        return f"coalesce({', '.join(operands)})"
    return draw(_joined(operands, ["+", "-", "-", "*"]))


@st.composite
def _test(draw: st.DrawFn) -> str:
    """A predicate without AND, OR and NOT."""
    one, two, three = (_in_parentheses(draw(arithmetic_of(draw(st.integers(0, 1))))) for _ in range(3))
    comparison = draw(st.sampled_from(["=", "<>", "!=", "<", "<=", ">", ">=", "=="]))
    negation = draw(st.sampled_from(["", "NOT ", "not "]))
    return draw(
        st.sampled_from(
            [
                f"{one} {comparison} {two}",
                f"{draw(_atoms)} {comparison} {draw(_atoms)}",
                f"{one} {negation}BETWEEN {two} AND {three}",
                f"{one} {negation}in ({two}, 3)",
                f"{one} is {negation}null",
                f"case when {one} > {two} then 'Size' else 'and' end = 'Size'",
                f"CAST({one} AS bigint) {comparison} {two}",
            ]
        )
    )


@st.composite
def predicate_of(draw: st.DrawFn, depth: int) -> str:
    """An expression with a truth value."""
    if depth == 0:
        return draw(_test())
    count = draw(st.integers(2, 3))
    deeper = predicate_of(depth - 1).map(_in_parentheses)
    operands = [draw(deeper) if draw(_deep) else draw(_test()) for _ in range(count)]
    if draw(st.integers(0, 3)) == 0:
        return f"NOT {_in_parentheses(operands[0])}"
    return draw(_joined(operands, ["and", "AND", "or", "OR"]))


arithmetic = st.integers(0, 3).flatmap(arithmetic_of)
predicates = st.integers(0, 2).flatmap(predicate_of)


def values(connection: duckdb.DuckDBPyConnection, sql: str, names: Mapping[str, str] | None = None) -> list[object]:
    """Evaluate an expression for a few rows; the columns are called as `names` says."""
    columns = ", ".join(f'"{(names or {}).get(name, name)}"' for name in COLUMNS)
    rows = ", ".join(str(row).replace("None", "NULL::bigint") for row in _ROWS)
    as_duckdb_quotes = sql.replace("`", '"').replace("==", "=")
    statement = f"SELECT {as_duckdb_quotes} FROM (VALUES {rows}) AS t({columns})"
    return [value for (value,) in connection.execute(statement).fetchall()]
