"""A side whose rows come late by a bound, as answers of windows do: no pair is lost, and none comes twice."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from streamshed.joins.model.conditions import Equality
from streamshed.joins.model.join_windows import JoinWindows
from streamshed.joins.model.specification import JoinSpecification
from streamshed.joins.partition.partition import JoinPartition
from streamshed.joins.windows.join_plan import JoinPlan
from streamshed.joins.windows.store import MemoryStore
from streamshed.network.model.answer_side import side_windows
from streamshed.network.model.declared_stream import stream
from streamshed.network.model.rows import Rows
from streamshed.network.source.sources import rate
from streamshed.network.terms.window import WindowSpecification
from streamshed.planning.load.join_delay import delay_of_stream
from streamshed.planning.window_drop.windows.provenance import needed_rows
from tests.oracles.replanned import database
from tests.property.window_specifications import short_windows

LAST = 80


def _joined(nested: list[WindowSpecification], *, is_left: bool) -> tuple[Rows, int]:
    """A side of nested windows, and how far the join of it stays behind."""
    ticks, others = (stream(name, rate(10), time="timestamp") for name in ("ticks", "others"))
    side: Rows = ticks
    for one in nested:
        lengths = (one.size_microseconds, one.slide_microseconds, one.offset_microseconds)
        size, slide, offset = (f"{length} us" for length in lengths)
        side = side.window(size, every=slide, offset=offset).agg(value="count(*)")
    left, right = (side, others) if is_left else (others, side)
    return side, delay_of_stream(left.join(right, on="value", within="9 s").stream)


@given(st.lists(short_windows(), min_size=1, max_size=3), st.booleans(), st.integers(-3, 40))
def test_no_answer_comes_later_than_its_join_waits(
    nested: list[WindowSpecification], is_left: bool, number: int
) -> None:
    side, delay = _joined(nested, is_left=is_left)
    assert list(side_windows(side.node)) == nested
    outermost = nested[-1]
    start = outermost.offset_microseconds + number * outermost.slide_microseconds
    needed = needed_rows(nested, start)
    if needed is not None:
        assert needed.end - start <= delay
    if len(nested) == 1:
        assert delay == outermost.size_microseconds


@dataclass(frozen=True)
class Stamped:
    """A row: its time, and its key."""

    time: int
    key: int


def _rows() -> st.SearchStrategy[list[Stamped]]:
    return st.lists(st.builds(Stamped, st.integers(0, LAST), st.integers(0, 2)), max_size=25)


def _table(rows: list[tuple[int, Stamped]]) -> pa.Table:
    return pa.table(
        {
            "t": pa.array([row.time for _, row in rows], pa.int64()),
            "n": pa.array([number for number, _ in rows], pa.int64()),
            "k": pa.array([row.key for _, row in rows], pa.int64()),
        }
    )


@given(
    answers=_rows(),
    rows=_rows(),
    window=short_windows(),
    lengths=st.tuples(st.integers(0, 25), st.integers(0, 25)).filter(any),
    steps=st.lists(st.integers(1, 30), min_size=1, max_size=12),
    basic=st.sampled_from([1, 3, 10]),
    restarts=st.booleans(),
)
def test_answers_that_come_when_their_windows_close_meet_all_rows_that_are_near(
    answers: list[Stamped],
    rows: list[Stamped],
    window: WindowSpecification,
    lengths: tuple[int, int],
    steps: list[int],
    basic: int,
    restarts: bool,
) -> None:
    """Each answer comes with the watermark that closes its window, each row with the one that comes to its time."""
    size, slide, offset = window.size_microseconds, window.slide_microseconds, window.offset_microseconds
    stamped = [Stamped(one.time - (one.time - offset) % slide, one.key) for one in answers]
    specification = JoinSpecification(
        windows=JoinWindows(*lengths, basic), condition=Equality(("k",), ("k",)), left_time="t", right_time="t"
    )
    store = MemoryStore()
    partition = JoinPartition(specification, store)
    found: Counter[tuple[int, int]] = Counter()
    before = -LAST
    for step in [*steps, LAST * 4]:
        watermark = before + step
        left = [(n, one) for n, one in enumerate(stamped) if before < one.time + size <= watermark]
        right = [(n, one) for n, one in enumerate(rows) if before <= one.time < watermark]
        if restarts:
            store = MemoryStore(dict(store.blobs))
            partition = JoinPartition(specification, store)
        result = partition.join(_table(left), _table(right), JoinPlan(watermark_microseconds=before - size))
        assert result.left_counts.late == result.right_counts.late == 0
        found.update(zip(result.left_rows()["n"].to_pylist(), result.right_rows()["n"].to_pylist(), strict=True))
        times = np.maximum(result.left_microseconds, result.right_microseconds)
        assert (times >= before - size).all()
        before = watermark
    with database() as connection:
        connection.register("l", _table(list(enumerate(stamped))))
        connection.register("r", _table(list(enumerate(rows))))
        wanted = connection.execute(
            f"SELECT l.n, r.n FROM l JOIN r USING (k) WHERE r.t - l.t BETWEEN {-lengths[1]} AND {lengths[0]}"
        ).fetchall()
    assert found == Counter(wanted)
