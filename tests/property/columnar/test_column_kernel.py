"""What rows by columns add to slices, against loops over the rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamshed.columnar import column_kernel
from streamshed.columnar.column_kernel import MOST_BITS, ColumnKernel
from streamshed.columnar.column_work import column_work
from streamshed.columnar.expressions.dialect import Dialect
from streamshed.columnar.key_index import KeyIndex
from streamshed.columnar.line import Line
from streamshed.network.model.declared_stream import stream
from streamshed.network.model.query import Query
from streamshed.network.model.relation import relation
from streamshed.network.model.rows import Rows
from streamshed.network.source.sources import folder
from streamshed.network.terms.block_sums import BLOCK_FIELDS
from streamshed.network.terms.join_shedding import COHORTS
from streamshed.network.terms.parsing import parse_json
from streamshed.sharing.instructions import Match
from streamshed.sharing.probes import is_probe
from streamshed.sharing.stream_work import stream_work

Row = dict[str, Any]
ROLES = {"a": "server", "b": "client", "": "server"}


@dataclass(frozen=True)
class Asked:
    """A query, in SQL and in Python."""

    name: str
    rows: Callable[[Rows], Rows]
    where: Callable[[Row], bool]
    keys: tuple[str, ...] = ()
    key: Callable[[Row], Any] = lambda _: (0, None)
    slide: int = 10

    def query(self, events: Rows) -> Query:
        windows = self.rows(events).window("20 seconds", every=f"{self.slide} seconds")
        grouped = windows.by(**{f"k{index}": sql for index, sql in enumerate(self.keys)})
        calls = {"n": "count(*)", "total": "sum(v)", "least": "min(v)", "most": "max(v)"}
        return grouped.agg(**calls).query(self.name)


def _text(value: Any) -> str:
    if value is None:
        return "\\N"
    return str(value).replace("\\", "\\\\").replace("\x1f", "\\u")


HOSTS = relation("hosts", "hosts.parquet", schema="host string, role string")
ASKED = (
    Asked("all", lambda rows: rows, lambda _: True),
    Asked("large", lambda rows: rows.filter("v > 3"), lambda row: row["v"] is not None and row["v"] > 3),
    Asked(
        "ratio",
        lambda rows: rows.filter("v <> 0").filter("12 / v > 1"),
        lambda row: bool(row["v"]) and 12 / row["v"] > 1,
        slide=4,
    ),
    Asked("by_host", lambda rows: rows, lambda _: True, ("host",), lambda row: (None, row["host"])),
    Asked(
        "by_both",
        lambda rows: rows.filter("host IS NOT NULL OR v = 1"),
        lambda row: row["host"] is not None or row["v"] == 1,
        ("host", "v"),
        lambda row: (None, f"{_text(row['host'])}\x1f{_text(row['v'])}"),
    ),
    Asked(
        "texts",
        lambda rows: rows.filter("upper(host) <> 'B'"),
        lambda row: row["host"] is not None and row["host"].upper() != "B",
        ("concat(host, '!')",),
        lambda row: (None, f"{row['host']}!"),
    ),
    Asked(
        "lengths",
        lambda rows: rows.filter("host IS NOT NULL").filter("host <> ''").filter("7 / length(host) > 3"),
        lambda row: bool(row["host"]) and 7 / len(row["host"]) > 3,
        ("length(host)",),
        lambda row: (len(row["host"]), None),
    ),
    Asked(
        "servers",
        lambda rows: rows.lookup(HOSTS, on="host", columns=["role"]).filter("role = 'server'"),
        lambda row: ROLES.get(row["host"]) == "server",
        ("v % 2",),
        lambda row: (None if row["v"] is None else int(np.fmod(row["v"], 2)), None),
    ),
)
EVENTS = stream(
    "events",
    folder("in", "parquet", schema="value binary, id bigint"),
    time="at",
    parse=parse_json("value", "at timestamp, v int, host string"),
    identity=["id"],
)
WORK = stream_work(EVENTS.stream, [asked.query(EVENTS) for asked in ASKED])
COLUMNS = column_work(WORK, {"hosts": {"host": "string", "role": "string"}}, Dialect(ansi=True, time_zone="UTC"))
KERNEL = ColumnKernel(COLUMNS)
LOOKUP = KeyIndex.of(pa.table({"host": list(ROLES), "role": list(ROLES.values())}), "host", ("role",))
LOOKUPS = {one.matched: LOOKUP for one in WORK.program.instructions if isinstance(one, Match)}

ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "at": st.integers(0, 100_000_000),
            "v": st.none() | st.integers(-5, 12) | st.integers(-(2**31), 2**31 - 1),
            "host": st.none() | st.sampled_from(["a", "b", "", "c\x1fd", "\\", "\\N"]),
        }
    ),
    min_size=1,
    max_size=60,
)


def _line(rows: list[Row], *, is_encoded: bool) -> Line:
    hosts = pa.array([row["host"] for row in rows], pa.string())
    columns = {
        "at": pa.array([row["at"] for row in rows], pa.timestamp("us", "UTC")),
        "v": pa.array([row["v"] for row in rows], pa.int32()),
        "host": hosts.dictionary_encode() if is_encoded else hosts,
    }
    instants, has_time = KERNEL.instants(columns, len(rows))
    assert has_time.all()
    return KERNEL.line(columns, instants, LOOKUPS)


def _sums(rows: list[Row], *, is_encoded: bool, cohorts: list[int] | None = None) -> pa.Table:
    of_rows = None if cohorts is None else np.array(cohorts, np.int64)
    return KERNEL.sums(_line(rows, is_encoded=is_encoded), None, is_sampled=False, cohorts=of_rows)


@given(ROWS, st.booleans())
def test_totals_are_of_the_counts_and_values_of_queries_and_of_no_probe(rows: list[Row], is_encoded: bool) -> None:
    expected = [_totals(asked, rows) for asked in ASKED]
    assert sorted(_unsigned(rows, is_encoded=is_encoded)) == sorted(expected)
    assert len(ASKED) == MOST_BITS
    with mock.patch.object(column_kernel, "MOST_BITS", 3):
        some = _unsigned(rows, is_encoded=is_encoded)
    assert len(some) == 3
    assert all(one in expected for one in some)


def _totals(asked: Asked, rows: list[Row]) -> tuple[list[float], list[float]]:
    """What each row brings to the count and the sum of a query."""
    counts = [float(asked.where(row)) for row in rows]
    return counts, [float(row["v"] or 0) * count for row, count in zip(rows, counts, strict=True)]


def _unsigned(rows: list[Row], *, is_encoded: bool) -> list[tuple[list[float], list[float]]]:
    """Counts and sums of queries in any order, the sign of their groups taken away."""
    totals = [one.astype(np.float64) for one in KERNEL.totaled(_line(rows, is_encoded=is_encoded))]
    return [
        (np.abs(counts).tolist(), (values * counts).tolist())
        for counts, values in zip(totals[::2], totals[1::2], strict=True)
    ]


def test_the_squares_of_totals_of_a_query_with_groups_are_those_of_its_groups_on_average() -> None:
    [by_host] = [one for one in ASKED if one.name == "by_host"]
    work = stream_work(EVENTS.stream, [by_host.query(EVENTS)])
    kernel = ColumnKernel(column_work(work, {}, Dialect(ansi=True, time_zone="UTC")))
    chance = np.random.default_rng(4)
    groups, values = chance.choice(5, 200, p=[0.4, 0.3, 0.15, 0.1, 0.05]), chance.integers(1, 20, 200)
    columns = {"v": pa.array(values, pa.int32()), "host": pa.array([f"host {group}" for group in groups])}
    squares = []
    for first in range(4000):
        counts, sums = kernel.totaled(kernel.line(columns, np.arange(first, first + 200)))
        assert {abs(count) for count in counts.tolist()} == {1.0}
        assert len(set(zip(groups.tolist(), counts.tolist(), strict=True))) == 5
        assert (sums == values * counts).all()
        squares.append([counts.sum() ** 2, sums.sum() ** 2])
    each = [np.square(np.bincount(groups, weights)).sum() for weights in (None, values)]
    # Of four thousand choices, four standard deviations are a twentieth.
    assert np.mean(squares, axis=0) == pytest.approx(each, rel=0.05)


def test_keys_are_computed_of_rows_alone_that_some_query_wants() -> None:
    """Where v is 0, the key is an error: Spark would have to tell it."""
    rows = EVENTS.filter("v <> 0").window("20 seconds").by(k="12 div v")
    queries = [rows.agg(n="count(*)").query("all"), rows.agg(n="sum(v)").query("sums")]
    kernel = ColumnKernel(column_work(stream_work(EVENTS.stream, queries), {}, Dialect(ansi=True, time_zone="UTC")))
    values = [4, 0, 3, 4, 0, 6]
    counts, *_ = kernel.totaled(kernel.line({"v": pa.array(values, pa.int32())}, np.arange(6)))
    assert np.abs(counts).tolist() == [float(value != 0) for value in values]
    assert counts[0] == counts[3]


@given(ROWS, st.booleans())
def test_each_query_has_the_sums_of_its_rows(rows: list[Row], is_encoded: bool) -> None:
    sums = _sums(rows, is_encoded=is_encoded).to_pylist()
    queries = {slot.query.definition_id: slot.query.name for slot in WORK.slots}
    classes = {one.class_id: one for one in WORK.classes}
    found: dict[str, dict[Any, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for row in sums:
        of_class = classes[row["class_id"]]
        start, _ = of_class.grid.slice_of(row["instant"])
        for member in of_class.members:
            if row["mask"] >> member.bit & 1 and not is_probe(member.slot) and not member.counts_only:
                found[queries[member.definition_id]][start, row["key_long"], row["key_text"]].append(row)
    for asked in ASKED:
        grid = next(one.grid for one in WORK.classes for m in one.members if queries[m.definition_id] == asked.name)
        expected: dict[Any, list[int | None]] = defaultdict(list)
        for row in filter(asked.where, rows):
            expected[grid.slice_of(row["at"])[0], *asked.key(row)].append(row["v"])
        assert found[asked.name].keys() == expected.keys()
        for group, values in expected.items():
            _check(found[asked.name][group], values)


@given(ROWS, st.booleans(), st.integers(0, 99))
def test_what_a_cohort_brings_is_what_its_rows_alone_sum_up_to(rows: list[Row], is_encoded: bool, seed: int) -> None:
    cohorts = np.random.default_rng(seed).integers(0, COHORTS, len(rows)).tolist()
    together = _by_place(_sums(rows, is_encoded=is_encoded, cohorts=cohorts).to_pylist())
    apart = _by_place(_sums(rows, is_encoded=is_encoded).to_pylist())
    assert all(row.pop("block_sums") is None for row in apart.values())
    lists = {place: row.pop("block_sums") for place, row in together.items()}
    assert together == apart
    for cohort in range(COHORTS):
        alone = [row for row, of_row in zip(rows, cohorts, strict=True) if of_row == cohort]
        expected = _by_place(_sums(alone, is_encoded=is_encoded).to_pylist() if alone else [])
        for place, brought in lists.items():
            nothing = dict.fromkeys(BLOCK_FIELDS, 0)
            sums = [expected.get(place, nothing)[name] or 0 for name in BLOCK_FIELDS]
            first = cohort * len(BLOCK_FIELDS)
            assert brought[first : first + len(BLOCK_FIELDS)] == pytest.approx(sums, rel=1e-6)


def _by_place(sums: Iterable[Row]) -> dict[Any, Row]:
    """What is summed up, by slice, class, mask and key."""
    classes = {one.class_id: one for one in WORK.classes}
    places = {}
    for row in sums:
        start, _ = classes[row["class_id"]].grid.slice_of(row["instant"])
        key = (start, row["class_id"], row["mask"], row["key_long"], row["key_text"])
        assert key not in places
        places[key] = {name: value for name, value in row.items() if name != "instant"}
    return places


def _check(parts: list[Row], values: list[int | None]) -> None:
    present = [value for value in values if value is not None]
    assert sum(part["rows"] for part in parts) == len(values)
    assert sum(part["present"] for part in parts) == len(present)
    there = [part for part in parts if part["present"]]
    assert sum(part["sum_low"] + (part["sum_high"] << 32) for part in there) == sum(present)
    assert sum(part["total"] for part in there) == sum(present)
    assert np.isclose(sum(part["squares"] for part in there), sum(float(value) ** 2 for value in present))
    assert min((part["least_long"] for part in there), default=None) == min(present, default=None)
    assert max((part["greatest_long"] for part in there), default=None) == max(present, default=None)
