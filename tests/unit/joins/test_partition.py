from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from streamshed.errors import IncompatibleCheckpointError, InvalidNetworkError
from streamshed.joins.model.conditions import Equality, InnerProduct, Overlap, Predicate
from streamshed.joins.model.join_windows import JoinWindows
from streamshed.joins.model.specification import JoinSpecification
from streamshed.joins.partition.partition import JoinPartition
from streamshed.joins.windows.join_plan import JoinPlan
from streamshed.joins.windows.store import MemoryStore

WINDOWS = JoinWindows(20, 20, 5)
BY_KEY = JoinSpecification(windows=WINDOWS, condition=Equality(("k",), ("k",)), left_time="t", right_time="t")


def rows(times: Sequence[int | None], keys: Sequence[int | None]) -> pa.Table:
    return pa.table({"t": pa.array(times, pa.int64()), "k": pa.array(keys, pa.int64())})


NOTHING = rows([], [])


def test_rows_are_counted_by_what_became_of_them() -> None:
    found = JoinPartition(BY_KEY, MemoryStore()).join(
        rows([5, 9, None, 10, 11], [1, 1, 1, None, 1]), NOTHING, JoinPlan(watermark_microseconds=9)
    )
    counts = found.left_counts
    assert (counts.received, counts.late, counts.without_time, counts.unmatchable, counts.admitted) == (5, 1, 1, 1, 2)


def test_only_basic_windows_that_are_probed_are_read() -> None:
    store = MemoryStore()
    partition = JoinPartition(BY_KEY, store)
    partition.join(rows([0, 5, 10, 15], [1, 1, 1, 1]), NOTHING)
    near = partition.join(NOTHING, rows([19], [1]), JoinPlan(fractions=(1.0,) + (0.0,) * 7))
    assert (len(near), near.state.basic_windows_read, near.state.basic_windows) == (1, 1, 5)
    everything = partition.join(NOTHING, rows([19], [1]))
    assert (len(everything), everything.state.basic_windows_read) == (4, 4)


def test_results_count_by_their_weight() -> None:
    by_size = replace(
        BY_KEY, weight=lambda left, right: np.array(left["k"]) * np.array([1.0, np.nan, -5.0])[: len(right)]
    )
    found = JoinPartition(by_size, MemoryStore()).join(rows([0, 1, 2], [7, 7, 7]), rows([2], [7]))
    assert found.cells.results.sum() == 3
    assert found.cells.weight.sum() == 7


def test_one_key_with_half_of_the_rows() -> None:
    keys = [0] * 500 + list(range(500))
    found = JoinPartition(BY_KEY, MemoryStore()).join(rows([1] * 1000, keys), rows([2] * 1000, keys))
    assert len(found) == 501 * 501 + 499


def test_a_store_of_other_basic_windows_is_refused() -> None:
    store = MemoryStore()
    JoinPartition(BY_KEY, store).join(rows([1], [1]), NOTHING)
    other = replace(BY_KEY, windows=JoinWindows(20, 20, 4))
    with pytest.raises(IncompatibleCheckpointError, match="expected a multiple of 4"):
        JoinPartition(other, store).join(NOTHING, NOTHING)


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        (Equality(("k",), ("x",)), "the right side of a join has no column 'x'"),
        (Equality(("k",), ("w",)), "'k' of type int64 with 'w' of type string"),
        (Overlap("k", "k", 1), "expected lists"),
        (InnerProduct("k", "k", 1.0), "expected a map"),
    ],
)
def test_what_cannot_be_compared_is_refused(condition: Equality, message: str) -> None:
    words = pa.table({"t": [1], "k": [1], "w": ["a"]})
    with pytest.raises(InvalidNetworkError, match=message):
        JoinPartition(replace(BY_KEY, condition=condition), MemoryStore()).join(words, words)


def test_a_predicate_that_answers_for_other_pairs() -> None:
    wrong = replace(BY_KEY, condition=Predicate(lambda left, _: np.ones(len(left) + 1, np.bool_)))
    with pytest.raises(ValueError, match="expected one truth value each"):
        JoinPartition(wrong, MemoryStore()).join(rows([1], [1]), rows([1], [1]))


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan")])
def test_shares_of_a_plan_are_shares(share: float) -> None:
    with pytest.raises(ValueError, match="expected a share"):
        JoinPlan(keep_share=share)
    with pytest.raises(ValueError, match="expected shares"):
        JoinPlan(fractions=(share,))


def test_conditions_that_would_join_everything_are_refused() -> None:
    for threshold in (0, float("nan")):
        with pytest.raises(InvalidNetworkError, match="without a common item"):
            InnerProduct("s", "s", threshold)
    with pytest.raises(InvalidNetworkError, match="without a common item"):
        Overlap("s", "s", 0)
    with pytest.raises(InvalidNetworkError, match="expected as many"):
        Equality(("a",), ())
    with pytest.raises(InvalidNetworkError, match="expected none below 0"):
        JoinWindows(0, 0, 1)


def test_what_is_foreseen_is_what_is_compared() -> None:
    random = np.random.default_rng(2)
    partition = JoinPartition(replace(BY_KEY, windows=JoinWindows(2000, 3000, 500)), MemoryStore())
    for number in range(10):
        times = np.sort(random.integers(number * 1000, number * 1000 + 1000, 400)).tolist()
        left, right = rows(times[:300], [1] * 300), rows(times[100:], [1] * 300)
        foreseen = partition.expected_comparisons(left, right)
        found = partition.join(left, right).cells.comparisons
        assert foreseen.comparisons == pytest.approx(found, rel=0.1, abs=500)
    assert foreseen.total > 1000


def test_a_cell_in_part_costs_what_was_planned_where_a_burst_begins() -> None:
    random = np.random.default_rng(4)
    of = replace(BY_KEY, windows=JoinWindows(8000, 0, 4000))
    partition = JoinPartition(of, MemoryStore())
    stored = np.sort(np.concatenate([random.integers(0, 4000, 50), random.integers(4000, 8000, 950)])).tolist()
    partition.join(rows(stored, [1] * 1000), NOTHING)
    new = rows([10_000] * 100, [2] * 100)
    foreseen = partition.expected_comparisons(NOTHING, new)
    found = partition.join(NOTHING, new, JoinPlan(fractions=(0.0, 0.5))).cells.comparisons
    assert found[1] == pytest.approx(0.5 * foreseen.comparisons[1], rel=0.05)


def test_of_stamps_of_whole_seconds_a_share_of_the_rows_is_compared() -> None:
    """All pairs of a cell have one lag, so that a part of its lags would be all of them, or none."""
    windows = JoinWindows(4_000_000, 4_000_000, 1_000_000)
    partition = JoinPartition(replace(BY_KEY, windows=windows), MemoryStore())
    stamps = [second * 1_000_000 for second in range(10) for _ in range(20)]
    new = rows(stamps, [1] * 200)
    whole = partition.expected_comparisons(new, new).comparisons
    found = partition.join(new, new, JoinPlan(fractions=(0.3,) * windows.cells, seed=1)).cells.comparisons
    assert found.sum() == pytest.approx(0.3 * whole.sum(), rel=0.02)
