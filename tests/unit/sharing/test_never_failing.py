"""Which expressions fail for no row: what is not known to is taken to."""

import pytest

from streamshed.sharing.never_failing import never_fails

TYPES = {
    "host": "string",
    "a": "bigint",
    "small": "tinyint",
    "x": "double",
    "ok": "boolean",
    "at": "timestamp",
    "cost": "decimal(10,2)",
    "tags": "array<string>",
}


@pytest.mark.parametrize(
    "sql",
    [
        "a",
        "`a`",
        "A > 3",
        "tags",
        "at",
        "cost",
        "length(host) % 8 > 1",
        "upper(trim(host)) = 'A' AND NOT ok",
        "a IN (1, 2) OR host IS NOT NULL",
        "a BETWEEN -1 AND x",
        "coalesce(a, small, 0)",
        "coalesce(x, a) * 2 - small",
        "a / 8",
        "x / 2.5",
        "CAST(a AS DOUBLE) + x",
        "CAST(small AS BIGINT)",
        "CAST(a AS STRING) = host",
    ],
)
def test_what_has_a_value_for_every_row(sql: str) -> None:
    assert never_fails(sql, TYPES)


@pytest.mark.parametrize(
    "sql",
    [
        "a + 1",
        "a * small",
        "-a",
        "abs(a)",
        "a % 0",
        "a % small",
        "1 / x",
        "x / 0",
        "x % 3",
        "CAST(host AS INT)",
        "CAST(x AS BIGINT)",
        "host > 3",
        "at > '2024-01-01'",
        "cost + 1",
        "tags[0] = 'a'",
        "a.b",
        "rand() < 0.5",
        "length(unknown)",
        "element_at(tags, 0)",
        "a = 1 AND CAST(host AS INT) = 1",
    ],
)
def test_what_may_fail_or_is_not_known(sql: str) -> None:
    assert not never_fails(sql, TYPES)
