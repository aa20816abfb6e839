import pytest

from streamshed.sharing.totality import is_total

TYPES = {
    "size": "int",
    "ratio": "double",
    "host": "string",
    "ok": "boolean",
    "unknown": None,
    "day": "date",
    "cost": "decimal(10,2)",
}


@pytest.mark.parametrize(
    "sql",
    [
        "size >= 0",
        "`SIZE` = -1",
        "(size > 1 AND NOT (size < 3)) OR host = 'a'",
        "size BETWEEN 1 AND ratio",
        "host IN ('a', 'b')",
        "ok",
        "NOT ok",
        "host IS NULL",
        "size IS NOT NULL",
        "ok IS TRUE",
        "size <=> 3",
        "ok = true",
    ],
)
def test_comparisons_of_one_family_cannot_fail(sql: str) -> None:
    assert is_total(sql, TYPES)


@pytest.mark.parametrize(
    "sql",
    [
        "size = '3'",
        "host > 3",
        "1 / size > 3",
        "size + 1 > 3",
        "CAST(host AS INT) > 3",
        "length(host) > 3",
        "unknown > 3",
        "missing > 3",
        "host LIKE 'a%'",
        "day > DATE'2024-01-01'",
        "size IN (1, '2')",
        "CASE WHEN ok THEN TRUE END",
        "-size > 3",
        "host",
    ],
)
def test_all_else_may_fail_or_cost(sql: str) -> None:
    assert not is_total(sql, TYPES)
