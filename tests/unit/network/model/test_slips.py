"""Values of a wrong type: each is told by what was got and what is meant, and never by an error of Python's."""

from collections.abc import Callable
from typing import Any

import pytest

from streamshed.errors import InvalidNetworkError
from streamshed.network.model.declared_stream import stream
from streamshed.network.model.relation import relation
from streamshed.network.source.sources import folder
from streamshed.network.terms.parsing import parse_json
from tests.unit.network.examples import PACKETS_FRAME, hosts, packets

ON = {"src_host": "host"}
SLIPS: dict[str, tuple[Callable[..., Any], dict[str, Any], str]] = {
    "on a number": (packets().lookup, {"relation": hosts(), "on": 5}, "on is a column, a list of columns or .*, got 5"),
    "on numbers": (
        packets().semijoin,
        {"relation": hosts(), "on": {"src_host": 5}},
        r"on is .*, got \{'src_host': 5\}",
    ),
    "negate": (packets().semijoin, {"relation": hosts(), "on": ON, "negate": "no"}, "True or False, got 'no'"),
    "columns added": (packets().lookup, {"relation": hosts(), "on": ON, "columns": [5]}, r"list of names, got \[5\]"),
    "one column": (packets().lookup, {"relation": hosts(), "on": ON, "columns": "subnet"}, r'write \["subnet"\]'),
    "returns": (
        packets().apply,
        {"function": "json:dumps", "columns": ["size"], "into": "x", "returns": int},
        "a type is text such as \"double\", got <class 'int'>",
    ),
    "arguments": (
        packets().apply,
        {"function": "json:dumps", "columns": 5, "into": "x", "returns": "int"},
        "columns is a list of names, got 5",
    ),
    "time": (
        stream,
        {"name": "p", "source": PACKETS_FRAME, "time": 5},
        "its time is a column, or an expression, got 5",
    ),
    "parse": (
        stream,
        {"name": "p", "source": PACKETS_FRAME, "time": "ts", "parse": "json"},
        r"how it is parsed is parse_json\(.*, got 'json'",
    ),
    "identity": (
        stream,
        {"name": "p", "source": PACKETS_FRAME, "time": "ts", "identity": 5},
        "an identity is a list of names, got 5",
    ),
    "column to parse": (parse_json, {"column": 5, "schema": "a int"}, "the name of a column, got 5"),
    "path": (folder, {"path": 5, "format": "parquet"}, 'a folder is a path such as "data/packets", got 5'),
    "options": (relation, {"name": "h", "source": "h.csv", "schema": "a int", "options": 5}, "options are a mapping"),
    "option": (
        parse_json,
        {"column": "v", "schema": "a int", "options": {"x": []}},
        "got 'x' with a value of type list",
    ),
}


@pytest.mark.parametrize(("make", "arguments", "problem"), SLIPS.values(), ids=SLIPS)
def test_a_slip_is_told(make: Callable[..., Any], arguments: dict[str, Any], problem: str) -> None:
    with pytest.raises(InvalidNetworkError, match=problem):
        make(**arguments)


def test_keys_are_given_one_by_one() -> None:
    keys: Any = ["proto", "size"]
    with pytest.raises(InvalidNetworkError, match=r'got \[.proto., .size.\]: write by\("proto", "size"\)'):
        packets().window("1 minute").by(keys)


def test_options_are_the_texts_that_spark_takes() -> None:
    options: Any = {"header": True, "sep": ";"}
    assert folder("x", "csv", schema="a int", options=options).options == (("header", "true"), ("sep", ";"))
