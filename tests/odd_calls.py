"""Calls of the public API with values that nobody means, drawn from a seed."""

from __future__ import annotations

import inspect
import random
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import streamshed as ss
from streamshed.errors import StreamshedError
from streamshed.network.run.load_prior import LoadPrior
from streamshed.network.source.sources import FolderSource
from streamshed.network.terms.join_condition import inner_product, overlap, pairs_where

PACKET_AVRO = {"type": "record", "name": "Packet", "fields": [{"name": "size", "type": "int"}]}
_NOBODY_TAKES = "nobody_takes_this"
MOST_SAID = 10_000
"""Characters of a message, whatever it is about."""
SCHEMA = "ts timestamp, host string, size int, tags array<string>, w map<string,double>"
ODD: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 5, 2**63, 10**400, 0.5, -0.5, float("nan"), float("inf"), 1 + 2j),
    *("", " ", "\n", "\x00", "\ud800", "é `", "`", "x" * 200_000, "size", "size >", "sum(size)", "count(*)", "host"),
    *("5 minutes", "0 seconds", "-1 s", "9" * 4_400, "9" * 4_400 + " s", "1e400 s", "exact", "json", "a int", "a b c"),
    *(
        "(" * 500,
        "x" + " AND x" * 500,
        "CASE" * 99,
        "size = 1e400",
        "'",
        "/*",
        "a int, a int",
        "json:dumps",
        "os:nothing",
    ),
    *(
        b"size",
        bytearray(b"x"),
        Path("x"),
        Path(),
        Decimal("NaN"),
        datetime(2024, 1, 1, tzinfo=UTC),
        timedelta(1),
        range(3),
    ),
    *((), [], {}, set(), [None], [[]], ["size", "size"], ["nothing"], {"a": 5}, {5: "a"}, {"": ""}, {"size": "size"}),
    *(int, object(), len, lambda: None, NotImplemented, ...),
    *(np.int64(3), np.float64("nan"), np.str_("size"), np.bool_(True), np.array([1, 2]), np.array("size")),
)
"""What is given in the place of a value."""


@dataclass(frozen=True)
class Target:
    """A function of the API, and arguments that it takes.

    Attributes:
        name: What it is called.
        function: It.
        arguments: By name.
    """

    name: str
    function: Callable[..., Any]
    arguments: Mapping[str, Any]

    @property
    def parameters(self) -> Sequence[str]:
        """The names of what it takes."""
        kinds = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
        return [one.name for one in inspect.signature(self.function).parameters.values() if one.kind not in kinds]


@cache
def targets() -> tuple[Target, ...]:
    """Return what is called."""
    files = ss.folder("in", "parquet", schema=SCHEMA)
    events, others = (ss.stream(name, files, time="ts") for name in ("events", "others"))
    return (*_target_functions(files, events), *_target_methods(events, others))


def _target_functions(files: FolderSource, events: ss.Rows) -> tuple[Target, ...]:
    query = events.window("1 minute").agg(n="count(*)").query("q")
    return (
        Target("folder", ss.folder, {"path": "in", "format": "csv", "schema": SCHEMA}),
        Target("rate", ss.rate, {"rows_per_second": 5}),
        Target("stream", ss.stream, {"name": "s", "source": files, "time": "ts"}),
        Target("relation", ss.relation, {"name": "r", "source": "r.csv", "schema": "host string"}),
        Target("parse_json", ss.parse_json, {"column": "host", "schema": "a int"}),
        Target("parse_avro", ss.parse_avro, {"column": "host", "schema": PACKET_AVRO}),
        Target("parse_csv", ss.parse_csv, {"column": "host", "schema": "a int"}),
        Target("user_aggregate", ss.user_aggregate, {"function": "json:dumps", "columns": ["size"], "returns": "int"}),
        Target(
            "network",
            lambda one, max_depth: ss.network(one, max_depth=max_depth),
            {"one": query, "max_depth": 1},
        ),
        Target("load_network", ss.load_network, {"path": "nothing.yaml"}),
        Target(
            "sql",
            ss.sql,
            {"text": "CREATE QUERY q AS SELECT * FROM events WHERE size > 1", "sources": {"events": events}},
        ),
        Target("explain", ss.network(query).explain, {}),
        Target("overlap", overlap, {"left": "tags", "at_least": 1}),
        Target("inner_product", inner_product, {"left": "w", "at_least": 1.0}),
        Target("load prior", LoadPrior, {}),
        Target("pairs_where", pairs_where, {"function": "json:dumps"}),
    )


def _target_methods(events: ss.Rows, others: ss.Rows) -> tuple[Target, ...]:
    hosts = ss.relation("hosts", "hosts.csv", schema="host string, subnet string")
    window = events.window("1 minute")
    counted = window.agg(n="count(*)")
    return (
        Target("filter", events.filter, {"predicate": "size > 1"}),
        Target("map", lambda value: events.map(x=value), {"value": "size + 1"}),
        Target("lookup", events.lookup, {"relation": hosts, "on": "host"}),
        Target("semijoin", events.semijoin, {"relation": hosts, "on": "host"}),
        Target(
            "apply", events.apply, {"function": "json:dumps", "columns": ["size"], "into": "x", "returns": "double"}
        ),
        Target("join", events.join, {"other": others, "on": "host", "within": "5 s"}),
        Target("window", events.window, {"size": "1 minute"}),
        Target("by", lambda first, key: window.by(first, k=key), {"first": "host", "key": "size"}),
        Target("agg", lambda call: window.agg(n=call), {"call": "sum(size)"}),
        Target("having", counted.filter, {"predicate": "n > 1"}),
        Target("query", counted.query, {"name": "q"}),
        Target("rows", events.query, {"name": "q"}),
    )


def odd_call(draws: random.Random) -> tuple[str, Exception | None]:
    """Call something with one or two odd values; return what was called, and what is wrong with what came of it.

    What is right is a value, an error of ours that is no longer than `MOST_SAID`, or Python's own `TypeError` where a
    call does not fit the signature.
    """
    target = draws.choice(targets())
    arguments = dict(target.arguments)
    names = [*target.parameters, _NOBODY_TAKES]
    for _ in range(draws.choice((1, 1, 2))):
        arguments[draws.choice(names)] = draws.choice(ODD)
    said = f"{target.name}({', '.join(f'{name}={_short(value)}' for name, value in arguments.items())})"
    try:
        found = target.function(**arguments)
        if isinstance(found, ss.Rows) and draws.random() < 0.5:
            ss.network(found.query("all_of_it")).explain()
    except StreamshedError as error:
        length = len(str(error))
        return said, None if length <= MOST_SAID else ValueError(f"a message of {length} characters")
    except TypeError as error:
        does_not_fit = len(traceback.extract_tb(error.__traceback__)) == 1 or _NOBODY_TAKES in str(error)
        return said, None if does_not_fit else error
    except Exception as error:  # noqa: BLE001 - which is what is looked for
        return said, error
    return said, None


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
