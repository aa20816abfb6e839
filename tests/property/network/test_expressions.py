from collections.abc import Iterator

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamshed.network.sql.expression import conjuncts, parse_expression, rename_columns
from streamshed.network.sql.sql_syntax import read_sql
from tests.property.network.expressions import COLUMNS, arithmetic, predicates, values

NEW_NAMES = ("a", "b", "size", "x y", "and", "date", "c0", "Straße", "end")
renamings = st.permutations(NEW_NAMES).map(lambda names: dict(zip(COLUMNS, names, strict=False)))


@pytest.fixture(scope="module")
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as database:
        yield database


@given(text=st.one_of(arithmetic, predicates), names=renamings)
def test_renamed_expressions_mean_the_same_over_renamed_columns(
    connection: duckdb.DuckDBPyConnection, text: str, names: dict[str, str]
) -> None:
    renamed = rename_columns(parse_expression(text), names)
    assert values(connection, renamed, names) == values(connection, text)


@given(text=st.one_of(arithmetic, predicates), names=renamings)
def test_renaming_there_and_back_changes_quotes_only(text: str, names: dict[str, str]) -> None:
    expression = parse_expression(text)
    back = {new: old for old, new in names.items()}
    returned = parse_expression(rename_columns(parse_expression(rename_columns(expression, names)), back))
    assert returned == expression
    assert {name.lower() for name in returned.columns} == {name.lower() for name in expression.columns}


@given(text=st.one_of(arithmetic, predicates))
def test_the_canonical_text_means_the_same(connection: duckdb.DuckDBPyConnection, text: str) -> None:
    canonical = parse_expression(text).canonical
    assert values(connection, canonical) == values(connection, text)


@given(text=st.one_of(arithmetic, predicates))
def test_the_canonical_text_is_its_own(text: str) -> None:
    canonical = parse_expression(text).canonical
    assert parse_expression(canonical).canonical == canonical


@given(text=st.one_of(arithmetic, predicates), data=st.data())
def test_trivial_changes_leave_the_canonical_text(text: str, data: st.DataObject) -> None:
    pieces = []
    for token in read_sql(text).tokens:
        changed = token.text if token.text[0] in "'`" else data.draw(st.sampled_from([token.text, token.text.upper()]))
        pieces.append(changed + data.draw(st.sampled_from([" ", "\n", " -- and\n", "  "])))
    assert parse_expression(f"(({''.join(pieces)}))").canonical == parse_expression(text).canonical


@given(text=predicates)
def test_the_conjuncts_together_are_the_predicate(connection: duckdb.DuckDBPyConnection, text: str) -> None:
    parts = conjuncts(parse_expression(text))
    together = " AND ".join(f"({part.text})" for part in parts)
    assert values(connection, together) == values(connection, text)
    assert all(len(conjuncts(part)) == 1 for part in parts)


@given(parts=st.lists(predicates, min_size=1, max_size=4))
def test_a_conjunction_has_the_conjuncts_of_its_parts(parts: list[str]) -> None:
    expected = [part for text in parts for part in conjuncts(parse_expression(text))]
    assert list(conjuncts(parse_expression(" and ".join(f"({text})" for text in parts)))) == expected
