"""Texts that are compared with columns of other types."""

from __future__ import annotations

import pytest

from streamshed.errors import InvalidNetworkError
from streamshed.network.model.declared_stream import stream
from streamshed.network.source.sources import folder
from streamshed.network.sql.expression import parse_expression
from streamshed.network.sql.unfit_literals import unfit_literals

COLUMNS = {
    "port": "int",
    "size": "double",
    "is_tcp": "boolean",
    "name": "string",
    "price": "decimal(9,2)",
    "thing": None,
    "ts": "timestamp",
    "day": "date",
}


@pytest.mark.parametrize(
    ("text", "unfit"),
    [
        ("port = 'tcp'", ["'tcp' is no whole number"]),
        ("'tcp' <=> PORT", ["'tcp' is no whole number"]),
        ("port BETWEEN '1' AND 'x'", ["'x' is no whole number"]),
        ("NOT port IN (80, 'a', 'b')", ["'a' is no whole number", "'b' is no whole number"]),
        ("size > 'big' OR price < 'dear'", ["'big' is no number", "'dear' is no number"]),
        ("is_tcp = 'maybe'", ["'maybe' is no truth value"]),
        ("(port) = ('tcp')", ["'tcp' is no whole number"]),
        ("CASE port WHEN 'tcp' THEN 1 WHEN 6 THEN 2 END", ["'tcp' is no whole number"]),
        ("port + 'tcp' > 3", ["'tcp' is no number"]),
        ("-port < 'x' AND port * 2 = 'y'", ["'x' is no", "'y' is no"]),
        ("coalesce(port, 'none') = 1", ["'none' is no whole number"]),
        ("ts > 'yesterday' OR day = 'monday'", ["'yesterday' is no time", "'monday' is no time"]),
    ],
)
def test_those_that_do_not_fit_are_named(text: str, unfit: list[str]) -> None:
    problems = unfit_literals(parse_expression(text), COLUMNS)
    assert len(problems) == len(unfit)
    assert all(any(one in problem for problem in problems) for one in unfit)


@pytest.mark.parametrize(
    "text",
    [
        *("port = ' 80 '", "port IN ('1', 2)", "size > '1e3'", "price <= '1.50'", "is_tcp = 'yes'", "name = 'tcp'"),
        *("ts > '2024-01-01'", "day = '2024-1-1'", "ts BETWEEN '12:00' AND '2024-01-01T10:00:00Z'", "port + '5.5' > 3"),
        *(
            "coalesce(name, 'none') = 'tcp'",
            "thing = 'tcp'",
            "upper(port) = 'tcp'",
            "port + 1 = 2",
            "CASE name WHEN 'a' THEN 1 END = port",
        ),
    ],
)
def test_others_are_left_to_spark(text: str) -> None:
    assert unfit_literals(parse_expression(text), COLUMNS) == []


def test_a_network_with_one_is_refused() -> None:
    packets = stream("packets", folder("in", "json", schema="ts timestamp, port int"), time="ts")
    with pytest.raises(InvalidNetworkError, match="'tcp' is no whole number"):
        packets.filter("port = 'tcp'")
    with pytest.raises(InvalidNetworkError, match="'tcp' is no whole number"):
        packets.map(is_tcp="port = 'tcp'")
