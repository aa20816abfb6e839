"""Windows that may take so much memory: they keep to it, keep what promises most, and say what is missing."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamshed.joins.model.join_windows import JoinWindows
from streamshed.joins.model.side import Side
from streamshed.joins.partition.partition import JoinPartition
from streamshed.joins.windows.directory import Directory, Stored
from streamshed.joins.windows.forgotten import apart, missing_times, together, with_released
from streamshed.joins.windows.join_plan import JoinPlan, MemoryLimit
from streamshed.joins.windows.memory_shares import MemoryShares, shared
from streamshed.joins.windows.release import promises, released
from streamshed.joins.windows.store import MemoryStore
from streamshed.joins.windows.yields import Yields
from tests.property.joins.streams import MicroBatch, full_join, joined, micro_batches, specification, windows
from tests.thoroughness import examples

STREAMS = micro_batches({"k": pa.int64()}, {"k": st.none() | st.integers(-2, 2)})
RATES = st.sampled_from([0.0, 0.1, 1.0, 3.0])


def yields_of(of: JoinWindows) -> st.SearchStrategy[Yields]:
    found = st.lists(st.integers(0, 900), min_size=of.cells, max_size=of.cells)
    return found.map(lambda results: Yields((1000.0,) * of.cells, tuple(map(float, results))))


@examples(100)
@given(chosen=st.data(), of=windows(), stream=STREAMS, limit=st.integers(0, 4000), restarts=st.booleans())
def test_what_is_missing_is_told_before_it_is_missing(
    chosen: st.DataObject, of: JoinWindows, stream: list[MicroBatch], limit: int, restarts: bool
) -> None:
    plan = JoinPlan(memory=MemoryLimit(bytes=limit, yields=chosen.draw(yields_of(of))))
    found, results = joined(specification(of), stream, restarts=restarts, plan=plan)
    everything = full_join(of, stream, "l.k = r.k")
    assert found <= everything
    assert all(one.state.bytes <= limit for one in results)
    arrival = [
        {row["n"]: (row["t"], number) for number, one in enumerate(stream) for row in getattr(one, side).to_pylist()}
        for side in ("left", "right")
    ]
    for left, right in everything - found:
        (mine, came), (theirs, later) = arrival[0][left], arrival[1][right]
        told = [times for one in results[: max(came, later)] for times in one.forgotten.times]
        assert any(start <= max(mine, theirs) <= until for start, until in told)


@examples(60)
@given(of=windows(), stream=STREAMS, limit=st.integers(0, 4000))
def test_rows_that_were_released_are_counted_until_their_window_is_over(
    of: JoinWindows, stream: list[MicroBatch], limit: int
) -> None:
    """Rows held and rows forgotten are the rows that a join without a limit holds."""
    plan = JoinPlan(memory=MemoryLimit(bytes=limit, yields=Yields.unknown(of.cells)))
    _, held = joined(specification(of), stream, restarts=True, plan=plan)
    _, full = joined(specification(of), stream, restarts=False)
    for one, other in zip(held, full, strict=True):
        # Of a basic window that was cut or came again, parts expire by themselves.
        assert one.state.rows <= other.state.rows
        if not any(earlier.state.released.total for earlier in held):
            assert (one.state.rows, one.forgotten.held.total) == (other.state.rows, 0)
    assert sum(one.state.released.total for one in held) >= held[-1].forgotten.held.total


@examples(200)
@given(chosen=st.data(), of=windows(), side=st.sampled_from(Side), ages=st.lists(st.integers(-20, 40), min_size=1))
def test_a_promise_is_that_of_the_best_time_to_let_go(
    chosen: st.DataObject, of: JoinWindows, side: Side, ages: list[int]
) -> None:
    rates = chosen.draw(st.lists(RATES, min_size=of.cells, max_size=of.cells))
    at = {
        abs(lag): rates[int(of.cells_of(np.array([lag]))[0])]
        for cell in of.cells_of_side(side)
        for lag in range(of.cell_intervals[cell][0], of.cell_intervals[cell][1] + 1)
    }
    found = promises(of, rates, side, np.array(ages))
    for age, promise in zip(ages, found.tolist(), strict=True):
        means = [0.0] + [
            sum(at.get(lag, 0.0) for lag in range(max(0, age), stop)) / (stop - age)
            for stop in range(max(0, age) + 1, max(at, default=0) + 2)
        ]
        assert promise == pytest.approx(max(means))


@examples(200)
@given(limit=st.integers(1, 10**6), wanted=st.dictionaries(st.integers(0, 50), st.integers(0, 10**6), max_size=8))
def test_shares_are_no_more_than_there_is_and_even_out_how_long_rows_are_kept(
    limit: int, wanted: dict[int, int]
) -> None:
    shares = shared(limit, wanted, partitions=max(1, len(wanted)))
    assert sum(shares.of(label) for label in wanted) <= limit
    assert MemoryShares.from_document(shares.to_document()) == shares
    if len(wanted) > 1:
        for label, size in wanted.items():
            fair = min(1.0, 0.9 * limit / max(1, sum(wanted.values()))) * size
            assert shares.of(label) >= int(fair)


def test_a_thousand_stamps_of_the_future_are_remembered_in_bounds() -> None:
    gone = [Stored(1, number, 1, 10, 10 * number, 10 * number + 9) for number in range(20_000)]
    forgotten = with_released(Directory(), gone)
    assert len(forgotten.entries) < 5_000
    assert (forgotten.rows, forgotten.bytes) == (20_000, 200_000)
    assert apart(together(Directory(tuple(gone)), forgotten)) == (Directory(tuple(gone)), forgotten)
    assert missing_times(forgotten, JoinWindows(20, 5, 10), 100) == ((100, 199_999 + 20),)


def test_a_clock_that_is_ahead_on_one_side_makes_no_row_of_the_other_old() -> None:
    """Rows of the year 2038 go before those that are about to meet theirs."""
    of = JoinWindows(20, 20, 10)
    ahead = [Stored(1, 10**6 + number, 5, 100, 10**7, 10**7 + 9) for number in range(3)]
    own = [Stored(side, 0, 5, 100, 0, 9) for side in Side]
    directory = Directory(tuple(sorted([*ahead, *own])))
    known = Yields((1000.0,) * 4, (10.0,) * 4)
    gone = released(directory, Directory(), of, MemoryLimit(bytes=200, yields=known))
    assert {one.number for one in gone.whole} == {one.number for one in ahead}


SECOND = 1_000_000
LATE = 40
"""The lag that pairs have; what may be kept is half of what it takes to keep all rows for so long."""


def _late_pairs(limit: int | None) -> tuple[int, int]:
    """Results, and the most bytes that were held, of rows each of which has its pair 40 to 49 later."""
    of = JoinWindows(60, 0, 10)
    partition = JoinPartition(specification(of), MemoryStore())
    yields = Yields((1e6,) * 6, (0.0, 0.0, 0.0, 0.0, 1e4, 0.0))
    found, most = 0, 0
    for start in range(0, 1000, 10):
        times = np.repeat(np.arange(start, start + 10), 20)
        keys = 20 * times + np.tile(np.arange(20), 10)
        left = pa.table({"t": times, "k": keys})
        right = pa.table({"t": times, "k": keys - 20 * LATE})
        memory = None if limit is None else MemoryLimit(bytes=limit, yields=yields)
        result = partition.join(left, right, JoinPlan(watermark_microseconds=start, memory=memory))
        found += len(result)
        most = max(most, result.state.bytes)
    return found, most


def test_rows_before_a_late_peak_are_kept_and_not_all_let_go_too_early() -> None:
    """A window of the youngest rows that fit, which is what age alone would keep, finds no pair at all."""
    full, needed = _late_pairs(None)
    part, held = _late_pairs(needed // 2)
    assert held <= needed // 2
    assert part >= 0.35 * full


def test_memory_for_half_of_the_rows_of_even_yields_keeps_about_half_of_the_results() -> None:
    random = np.random.default_rng(5)
    of = JoinWindows(100, 100, 5)
    rows = [(np.sort(random.integers(at, at + 10, 60)), random.integers(0, 5, 60)) for at in range(0, 1000, 10)]
    counts: Counter[str] = Counter()
    for name in ("full", "held"):
        partition, yields = JoinPartition(specification(of), MemoryStore()), Yields.unknown(of.cells)
        for number, (times, keys) in enumerate(rows):
            left, right = (pa.table({"t": times[side::2], "k": keys[side::2]}) for side in range(2))
            limit = MemoryLimit(bytes=counts["most"] // 2, yields=yields) if name == "held" else None
            result = partition.join(left, right, JoinPlan(watermark_microseconds=10 * number, memory=limit))
            yields = yields.update(result.cells.comparisons, result.cells.weight, seconds=1.0)
            counts[name] += len(result)
            counts["missed"] += round(float((result.forgotten.comparisons * yields.per_comparison).sum()))
            counts["most"] = max(counts["most"], result.state.bytes) if name == "full" else counts["most"]
    assert 0.4 * counts["full"] < counts["held"] < 0.8 * counts["full"]
    assert counts["held"] + counts["missed"] == pytest.approx(counts["full"], rel=0.1)


def _learned_late_pairs(limit: int | None) -> tuple[list[int], int]:
    """Results by micro-batch, and the most bytes held, of pairs 12 s apart, where yields are learned from nothing."""
    of = JoinWindows(20 * SECOND, 0, SECOND)
    partition, yields = JoinPartition(specification(of), MemoryStore()), Yields.unknown(of.cells)
    within = np.sort(np.random.default_rng(0).choice(SECOND, 40, replace=False))
    found, most = [], 0
    for number in range(90):
        times = number * SECOND + within
        left, right = pa.table({"t": times, "k": times}), pa.table({"t": times, "k": times - 12 * SECOND})
        memory = None if limit is None else MemoryLimit(bytes=limit, yields=yields)
        result = partition.join(left, right, JoinPlan(watermark_microseconds=number * SECOND, memory=memory))
        yields = yields.update(result.cells.comparisons, result.cells.weight, seconds=1.0)
        found.append(len(result))
        most = max(most, result.state.bytes)
    return found, most


def test_a_late_peak_that_nobody_knows_is_found_though_memory_is_too_short_to_see_it() -> None:
    """Half of what the windows hold is for the youngest ten seconds: of rows that meet theirs at twelve, none stay."""
    full, needed = _learned_late_pairs(None)
    part, held = _learned_late_pairs(needed // 2)
    assert held <= needed // 2
    assert sum(part[40:]) >= 0.6 * sum(full[40:])


@examples(100)
@given(chosen=st.data(), of=windows(), share=st.floats(0, 1))
def test_of_either_side_some_rows_live_to_see_the_end_of_their_window(
    chosen: st.DataObject, of: JoinWindows, share: float
) -> None:
    """Whatever they promise, and within the limit: the oldest in a tenth of it."""
    sizes = chosen.draw(st.lists(st.integers(1, 500), min_size=1, max_size=12))
    b = of.basic_microseconds
    directory = Directory(
        tuple(
            Stored(side, number, 1, size, b * number, b * number + b - 1)
            for side in Side
            for number, size in enumerate(sizes)
        )
    )
    limit = MemoryLimit(bytes=int(share * directory.bytes), yields=chosen.draw(yields_of(of)))
    gone = released(directory, Directory(), of, limit)
    left = {one: one.bytes for one in directory.entries if one not in gone.whole} | {c.of: c.bytes for c in gone.cuts}
    assert sum(left.values()) <= limit.bytes
    now = b * len(sizes) - 1
    sides = [side for side in Side if of.length(side)]
    for side in sides:
        young = [one for one in directory.of(side) if one.last_microseconds > now - of.length(side)]
        stays = sum(left.get(one, 0) for one in young)
        assert stays >= min(sum(one.bytes for one in young), int(0.1 * limit.bytes) // len(sides))
        assert not young or limit.bytes < 20 or young[0] in left
