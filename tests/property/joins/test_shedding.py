"""What is shed is what the plan says: by lag, by row, by key; never a pair that the full join does not have."""

from collections import Counter
from dataclasses import replace
from itertools import cycle

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamshed.joins.model.conditions import Overlap
from streamshed.joins.model.join_windows import JoinWindows, merged
from streamshed.joins.model.side import Side
from streamshed.joins.partition.join_result import JoinResult
from streamshed.joins.partition.partition import JoinPartition
from streamshed.joins.windows.join_plan import JoinPlan, MemoryLimit
from streamshed.joins.windows.store import MemoryStore
from streamshed.joins.windows.yields import Yields
from tests.property.joins.streams import MicroBatch, full_join, joined, micro_batches, specification, windows
from tests.thoroughness import examples

COLUMNS = {"k": pa.int64()}
STREAMS = micro_batches(COLUMNS, {"k": st.none() | st.integers(-2, 2)})
SHARES = st.floats(0, 1)


def fractions_of(of: JoinWindows, *shares: float) -> st.SearchStrategy[tuple[float, ...]]:
    return st.lists(st.sampled_from(shares), min_size=of.cells, max_size=of.cells).map(tuple)


@examples(100)
@given(chosen=st.data(), of=windows(), stream=STREAMS, restarts=st.booleans())
def test_selected_lags_are_compared_and_no_others(
    chosen: st.DataObject, of: JoinWindows, stream: list[MicroBatch], restarts: bool
) -> None:
    fractions = chosen.draw(fractions_of(of, 0.0, 1.0))
    found, results = joined(specification(of), stream, restarts=restarts, plan=JoinPlan(fractions=fractions))
    cells = merged([lags for lags, share in zip(of.cell_intervals, fractions, strict=True) if share])
    lags = " OR ".join(f"r.t - l.t BETWEEN {lo} AND {hi}" for lo, hi in cells) or "false"
    assert found == full_join(of, stream, f"l.k = r.k AND ({lags})")
    compared = full_join(of, stream, f"l.k IS NOT NULL AND r.k IS NOT NULL AND ({lags})")
    assert sum(float(one.cells.comparisons.sum()) for one in results) == sum(compared.values())


@examples(60)
@given(chosen=st.data(), of=windows(), stream=STREAMS, keep=SHARES)
def test_results_are_a_subset_each_once(
    chosen: st.DataObject, of: JoinWindows, stream: list[MicroBatch], keep: float
) -> None:
    plan = JoinPlan(fractions=chosen.draw(fractions_of(of, 0.0, 0.1, 0.3, 0.9, 1.0)), keep_share=keep, seed=3)
    found, results = joined(specification(of), stream, restarts=False, plan=plan)
    assert found <= full_join(of, stream, "l.k = r.k")
    for one in results:
        for side in (one.left_counts, one.right_counts):
            assert side.received == side.late + side.without_time + side.unmatchable + side.dropped + side.admitted


@examples(60)
@given(of=windows(), stream=STREAMS, limit=st.integers(0, 4000))
def test_state_stays_within_its_limit(of: JoinWindows, stream: list[MicroBatch], limit: int) -> None:
    plan = JoinPlan(memory=MemoryLimit(bytes=limit, yields=Yields.unknown(of.cells)))
    found, results = joined(specification(of), stream, restarts=True, plan=plan)
    everything = full_join(of, stream, "l.k = r.k")
    assert found <= everything
    assert all(one.state.bytes <= limit for one in results)
    if not any(one.state.released.total for one in results):
        assert found == everything


@examples(60)
@given(of=windows(), stream=STREAMS)
def test_state_does_not_outlive_the_windows(of: JoinWindows, stream: list[MicroBatch]) -> None:
    store = MemoryStore()
    partition = JoinPartition(specification(of), store)
    for one in stream:
        partition.join(one.left, one.right, JoinPlan(watermark_microseconds=one.watermark))
    nothing = stream[0].left.slice(0, 0)
    last = partition.join(nothing, nothing, JoinPlan(watermark_microseconds=10_000))
    assert (last.state.rows, last.state.bytes, len(store.blobs)) == (0, 0, 1)


@examples(40)
@given(of=windows(), stream=STREAMS, multiples=st.lists(st.none() | st.integers(1, 9), min_size=1))
def test_basic_windows_of_another_size_hold_the_same(
    of: JoinWindows, stream: list[MicroBatch], multiples: list[int | None]
) -> None:
    partition = JoinPartition(specification(of), MemoryStore())
    found: Counter[tuple[int, int]] = Counter()
    for one, multiple in zip(stream, cycle(multiples), strict=False):
        plan = JoinPlan(watermark_microseconds=one.watermark, basic_multiple=multiple)
        result = partition.join(one.left, one.right, plan)
        found.update(zip(result.left_rows()["n"].to_pylist(), result.right_rows()["n"].to_pylist(), strict=True))
    assert found == full_join(of, stream, "l.k = r.k")


@pytest.mark.parametrize("multiple", [1, 3, 20])
def test_rows_are_found_in_the_micro_batch_that_cuts_them_anew(multiple: int) -> None:
    partition = JoinPartition(specification(JoinWindows(20, 20, 2)), MemoryStore())
    left = pa.table({"t": list(range(8)), "k": [1] * 8})
    right = pa.table({"t": [8], "k": [1]})
    partition.join(left, right.slice(0, 0))
    found = partition.join(left.slice(0, 0), right, JoinPlan(basic_multiple=multiple))
    assert found.left_microseconds.tolist() == left["t"].to_pylist()


def test_what_was_released_is_remembered_in_basic_windows_of_another_size() -> None:
    of, store = JoinWindows(60, 60, 5), MemoryStore()
    times = pa.table({"t": list(range(60)), "k": [1] * 60})
    limit = MemoryLimit(bytes=6_000, yields=Yields.unknown(of.cells))
    before = JoinPartition(specification(of), store).join(times, times, JoinPlan(memory=limit))
    after = JoinPartition(specification(of), store).join(
        times.slice(0, 0), times.slice(0, 0), JoinPlan(basic_multiple=4)
    )
    assert before.forgotten.held.left > 0
    assert after.forgotten.held == before.forgotten.held
    assert after.forgotten.times == before.forgotten.times
    assert after.state.held == before.state.held
    assert after.state.basic_windows < before.state.basic_windows


TEXTS = micro_batches({"k": pa.string()}, {"k": st.sampled_from(["a", "b", "c", "d", "e"])})
WORDS = micro_batches({"k": pa.list_(pa.string())}, {"k": st.lists(st.sampled_from("abcdefgh"), max_size=5)})


@pytest.fixture
def weak_hash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        pd.util, "hash_array", lambda values, **_: np.array([ord(one) % 3 for one in values], np.uint64)
    )


@pytest.mark.usefixtures("weak_hash")
def test_keys_and_items_with_equal_hashes_stay_apart() -> None:
    @examples(60)
    @given(of=windows(), texts=TEXTS, words=WORDS)
    def check(of: JoinWindows, texts: list[MicroBatch], words: list[MicroBatch]) -> None:
        found, _ = joined(specification(of), texts, restarts=False)
        assert found == full_join(of, texts, "l.k = r.k")
        overlap = replace(specification(of), condition=Overlap("k", "k", 1))
        found, _ = joined(overlap, words, restarts=False)
        assert found == full_join(of, words, "len(list_distinct(list_intersect(l.k, r.k))) >= 1")

    check()


@examples(60)
@given(chosen=st.data(), of=windows(), stream=STREAMS, seed=st.integers(0, 4))
def test_of_two_new_rows_the_later_one_decides_over_which_lags_it_is_compared(
    chosen: st.DataObject, of: JoinWindows, stream: list[MicroBatch], seed: int
) -> None:
    """Whatever the rows, a row is compared over a cell in full or not at all, and over more of larger shares."""
    fractions = chosen.draw(fractions_of(of, 0.0, 0.4, 0.7))
    plan = JoinPlan(fractions=fractions, seed=seed)
    for one in stream:
        result = JoinPartition(specification(of), MemoryStore()).join(one.left, one.right, plan)
        full = JoinPartition(specification(of), MemoryStore()).join(one.left, one.right)
        found, everything = (Counter(_deciding(each, of)) for each in (result, full))
        for (row, cell), count in everything.items():
            assert found[row, cell] in {0, count}
            if found[row, cell] == 0:
                assert not any(found[row, other] for other in range(of.cells) if fractions[other] < fractions[cell])


def _deciding(result: JoinResult, of: JoinWindows) -> list[tuple[tuple[Side, int], int]]:
    """Of each pair the row that is the later one, and the cell of its lag."""
    lags = result.right_microseconds - result.left_microseconds
    cells = of.cells_of(lags).tolist()
    numbers = zip(result.left_rows()["n"].to_pylist(), result.right_rows()["n"].to_pylist(), strict=True)
    rows = [
        (Side.RIGHT, right) if lag >= 0 else (Side.LEFT, left)
        for (left, right), lag in zip(numbers, lags.tolist(), strict=True)
    ]
    return list(zip(rows, cells, strict=True))
