"""Windows of so many rows: whatever order rows come in, and however often the run stops, they are DuckDB's."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from streamshed.answering.count_windows.count_figures import CountSeries
from streamshed.answering.count_windows.count_numbering import ROW
from streamshed.answering.count_windows.count_windows import CountedGroup, CountWindows
from streamshed.answering.table.answer_schema import ANSWER, LATE
from streamshed.answering.table.value_kind import Carriage
from streamshed.spark.count_windows.count_operator import CountOperator
from tests.oracles.replanned import database
from tests.thoroughness import examples

MILLISECOND = 1_000
DELAY = 5 * MILLISECOND
QUERY, OTHER = 7, 8
END = 10_000 * MILLISECOND


@dataclass
class _State:
    """What Spark keeps of one label."""

    value: tuple[Any, ...] | None = None
    entries: dict[tuple[Any, ...], tuple[Any, ...]] = field(default_factory=dict)

    def getValueState(self, *_: str) -> _State:  # noqa: N802 - Spark's name
        return self

    getMapState = getValueState  # noqa: N815

    def get(self) -> tuple[Any, ...] | None:
        return self.value

    def update(self, value: tuple[Any, ...]) -> None:
        self.value = value

    def getValue(self, key: tuple[Any, ...]) -> tuple[Any, ...] | None:  # noqa: N802
        return self.entries.get(key)

    def updateValue(self, key: tuple[Any, ...], value: tuple[Any, ...]) -> None:  # noqa: N802
        self.entries[key] = value

    def removeKey(self, key: tuple[Any, ...]) -> None:  # noqa: N802
        del self.entries[key]

    def keys(self) -> Iterator[tuple[Any, ...]]:
        return iter(list(self.entries))


@st.composite
def _arrivals(draw: st.DrawFn) -> list[list[tuple[int, str, int | None]]]:
    """Micro-batches of rows (time, group, value), out of order by any length."""
    count = draw(st.integers(1, 60))
    times = draw(st.lists(st.integers(1, 30), min_size=count, max_size=count))
    groups = draw(st.lists(st.sampled_from("ab"), min_size=count, max_size=count))
    values = draw(st.lists(st.none() | st.integers(-(2**62), 2**62), min_size=count, max_size=count))
    late_by = draw(st.lists(st.integers(0, 8), min_size=count, max_size=count))
    rows = sorted(zip(times, late_by, groups, values, strict=True), key=lambda row: row[0] + row[1])
    cuts = sorted(draw(st.lists(st.integers(0, count), max_size=6)))
    plain = [(time * MILLISECOND, group, value) for time, _, group, value in rows]
    return [plain[start:end] for start, end in zip([0, *cuts], [*cuts, count], strict=True)]


def _frame(rows: list[tuple[int, str, int | None]], definition: int = QUERY) -> pd.DataFrame:
    columns = {
        "definition_id": np.full(len(rows), definition),
        "slot": np.zeros(len(rows), np.int64),
        "key_long": np.zeros(len(rows), np.int64),
        "key_text": np.array([group for _, group, _ in rows], object),
        "time": np.array([time for time, _, _ in rows], np.int64),
        "tie": np.array(["\\N" if value is None else str(value) for _, _, value in rows], object),
        "is_present": np.array([value is not None for _, _, value in rows], np.bool_),
        "number": np.array([float(value or 0) for _, _, value in rows]),
        "long": np.array([value or 0 for _, _, value in rows], np.int64),
        "text": np.array([None if value is None else str(value) for _, _, value in rows], object),
    }
    return pd.DataFrame(columns)[list(ROW)]


@dataclass
class _Run:
    """Micro-batches, one after the other; each begins with what the last one left in state, as after a restart."""

    windows: CountWindows
    state: _State = field(default_factory=_State)
    watermark: int = 0
    latest: int = 0
    late: int = 0
    numbered: list[tuple[int, str, int | None]] = field(default_factory=list)
    found: list[dict[str, Any]] = field(default_factory=list)

    def micro_batch(self, rows: list[tuple[int, str, int | None]], *, is_last: bool = False) -> None:
        before, self.watermark = self.watermark, END if is_last else max(self.watermark, self.latest - DELAY)
        plan = SimpleNamespace(open=before, drained_at=END if is_last else None)
        series = CountSeries(QUERY, 0, self.windows, Carriage.LONG, is_collected=True)
        operator = CountOperator([series], SimpleNamespace(current=lambda: plan))  # type: ignore[arg-type]
        operator.init(self.state)  # type: ignore[arg-type]
        timers = SimpleNamespace(getCurrentWatermarkInMs=lambda: self.watermark // MILLISECOND)
        halves = [_frame(rows[::2]), _frame(rows[1::2])]
        for table in operator.handleInputRows(None, iter(halves), timers):
            for row in table.to_dict("records"):
                if row["kind"] == LATE:
                    self.late += row["rows"]
                else:
                    assert row["kind"] == ANSWER
                    self.found.append({str(name): value for name, value in row.items()})
        self.latest = max([self.latest, *(time for time, _, _ in rows)])
        self.numbered += [row for row in rows if not (before and row[0] < before)]


def _expected(rows: list[tuple[int, str, int | None]], windows: CountWindows) -> list[tuple[object, ...]]:
    table = pa.table(
        {
            "t": pa.array([row[0] for row in rows], pa.int64()),
            "g": pa.array([row[1] for row in rows], pa.string()),
            "v": pa.array([row[2] for row in rows], pa.int64()),
        }
    )
    with database() as connection:
        connection.register("rows", table)
        return connection.execute(
            "WITH numbered AS (SELECT *, row_number() OVER (PARTITION BY g ORDER BY t, coalesce(CAST(v AS VARCHAR),"
            " '\\N')) - 1 AS n FROM rows)"
            " SELECT g, k, count(*), count(v), sum(v)::HUGEINT, min(v), max(v),"
            " coalesce(list(CAST(v AS VARCHAR) ORDER BY n) FILTER (v IS NOT NULL), [])"
            f" FROM numbered, range({windows.first}, {len(rows) + 1}, {windows.slide}) w(k)"
            f" WHERE n >= k AND n < k + {windows.size} GROUP BY g, k ORDER BY g, k"
        ).fetchall()


def _told(row: dict[str, Any]) -> tuple[object, ...]:
    has_any = row["present"] > 0
    total = int(row["sum_high"]) * 2**32 + int(row["sum_low"])
    values = (total, row["least_long"], row["greatest_long"]) if has_any else (None, None, None)
    return (row["key_text"], row["window_from"], row["rows"], row["present"], *values, row["collected"])


sizes = st.integers(1, 12).flatmap(lambda size: st.builds(CountWindows, st.just(size), st.integers(1, size)))


@examples(150)
@given(_arrivals(), sizes)
def test_they_are_those_of_rows_in_order_of_time(
    arrivals: list[list[tuple[int, str, int | None]]], windows: CountWindows
) -> None:
    run = _Run(windows)
    for rows in arrivals:
        run.micro_batch(rows)
    run.micro_batch([], is_last=True)
    found = sorted(map(_told, run.found), key=lambda row: row[:2])
    assert found == _expected(run.numbered, windows)
    assert run.late == sum(map(len, arrivals)) - len(run.numbered)
    assert len({row[:2] for row in found}) == len(found), "a window was answered twice"


@examples(50)
@given(_arrivals(), sizes)
def test_state_holds_less_than_a_window_of_each_group(
    arrivals: list[list[tuple[int, str, int | None]]], windows: CountWindows
) -> None:
    run = _Run(windows)
    for rows in arrivals:
        run.micro_batch(rows)
        for (written,) in run.state.entries.values():
            assert len(CountedGroup.from_bytes(written).rows) < windows.size


def test_rows_after_the_last_ones_are_in_windows_behind_them() -> None:
    run = _Run(CountWindows(4, 2))
    run.micro_batch([(1000 * n, "a", n) for n in range(1, 6)])
    run.micro_batch([], is_last=True)
    before = [row["window_from"] for row in run.found]
    assert before == [-2, 0, 2, 4]
    run.micro_batch([(END + 1000 * n, "a", n) for n in range(1, 6)])
    run.latest = END * 2
    run.micro_batch([])
    assert [row["window_from"] for row in run.found] == [*before, 6]


def test_groups_of_queries_that_are_gone_are_forgotten() -> None:
    run = _Run(CountWindows(4, 2))
    run.micro_batch([(1000, "a", 1)])
    definitions, waiting = run.state.value or ([], b"")
    run.state.value = ([*definitions, OTHER], waiting)
    run.state.entries[OTHER, 0, 0, "a"] = (b"",)
    run.micro_batch([(2000, "a", 1)])
    assert all(key[0] == QUERY for key in run.state.entries)
