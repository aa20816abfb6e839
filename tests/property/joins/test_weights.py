"""Results that are worth something: within the same budget the join gives at least as much weight as without."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamshed.joins.choose.expected_comparisons import ExpectedComparisons
from streamshed.joins.choose.greedy import greedy
from streamshed.joins.choose.join_policies import join_policy_named, plan_within
from streamshed.joins.choose.selection import CellWork, Prices
from streamshed.joins.model.arrays import Floats
from streamshed.joins.model.conditions import Equality
from streamshed.joins.model.join_windows import JoinWindows
from streamshed.joins.model.side_rows import WORTH, SideRows
from streamshed.joins.model.specification import JoinSpecification
from streamshed.joins.partition.partition import JoinPartition
from streamshed.joins.windows.join_plan import JoinPlan
from streamshed.joins.windows.store import MemoryStore
from streamshed.joins.windows.yields import Yields
from tests.thoroughness import examples

SEEN = 1e6


@st.composite
def weighed_work(draw: st.DrawFn) -> CellWork:
    cells = draw(st.integers(1, 8))
    windows = JoinWindows(cells * 10, 0, 10)
    numbers = st.lists(st.floats(0, 1000), min_size=cells, max_size=cells)
    expected = ExpectedComparisons(
        windows=windows, with_stored=tuple(draw(numbers)), among_new=(0.0,) * cells, reads=(0,) * cells
    )
    found = [result * SEEN / 2000 for result in draw(numbers)]
    worth = [result * value for result, value in zip(found, draw(numbers), strict=True)]
    return CellWork(
        expected=expected,
        yields=Yields((SEEN,) * cells, tuple(worth)),
        result_yields=Yields((SEEN,) * cells, tuple(found)),
        prices=Prices(comparison=draw(st.floats(0.1, 2)), result=draw(st.floats(0, 3))),
    )


@examples(300)
@given(work=weighed_work(), share=st.floats(0, 1))
def test_no_choice_by_results_alone_gives_more_weight_for_the_same_cost(work: CellWork, share: float) -> None:
    budget = share * float(work.costs.sum())
    by_results = greedy(replace(work, yields=work.result_yields or work.yields), budget)
    by_weight = greedy(work, budget)
    weight = work.expected.comparisons * np.array(work.yields.per_comparison)
    given_by = [float((weight * chosen.fractions).sum()) for chosen in (by_weight, by_results)]
    assert given_by[0] >= given_by[1] * (1 - 1e-9)
    assert float((work.costs * by_weight.fractions).sum()) <= budget * (1 + 1e-9) + 1e-9


WINDOWS = JoinWindows(100, 0, 10)
WEIGHED = JoinSpecification(
    windows=WINDOWS,
    condition=Equality(("k",), ("k",)),
    left_time="t",
    right_time="t",
    weight=lambda left, right: np.asarray(left["w"]) * np.asarray(right["w"]),
    weight_columns=(("w",), ("w",)),
)


def _micro_batches() -> list[tuple[pa.Table, pa.Table]]:
    """Most pairs are young and worth 1; one in ten is old and worth 100."""
    random = np.random.default_rng(8)
    found = []
    for start in range(0, 600, 20):
        times = np.sort(random.integers(start, start + 20, 200))
        is_old = random.random(200) < 0.1
        lefts = pa.table({"t": times, "k": times * 1000 + np.arange(200), "w": np.where(is_old, 100.0, 1.0)})
        found.append((lefts, is_old))
    sides = []
    everything = pa.concat_tables([lefts for lefts, _ in found])
    times, is_old = np.asarray(everything["t"]), np.asarray(everything["w"]) > 1
    lags = np.where(is_old, random.integers(60, 95, len(times)), random.integers(0, 50, len(times)))
    rights = pa.table({"t": times + lags, "k": everything["k"], "w": np.ones(len(times))})
    for number, (lefts, _) in enumerate(found):
        at = np.asarray(rights["t"]) // 20
        own = rights.filter(pa.array(at == number)).sort_by("t")
        sides.append((lefts, own))
    return sides


def _delivered(*, by_weight: bool) -> tuple[float, float]:
    """Weight delivered with a third of the comparisons, and comparisons."""
    partition = JoinPartition(WEIGHED, MemoryStore())
    worth, found = Yields.unknown(WINDOWS.cells), Yields.unknown(WINDOWS.cells)
    weight = comparisons = 0.0
    for number, (left, right) in enumerate(_micro_batches()):
        expected = partition.expected_comparisons(left, right)
        work = CellWork(expected=expected, yields=worth if by_weight else found, result_yields=found)
        plan = JoinPlan(watermark_microseconds=number * 20, seed=number)
        plan = plan_within(join_policy_named("greedy"), work, 0.33 * expected.total, plan=plan)
        cells = partition.join(left, right, plan).cells
        worth = worth.update(cells.comparisons, cells.weight, seconds=1.0, full=expected.comparisons)
        found = found.update(cells.comparisons, cells.results, seconds=1.0, full=expected.comparisons)
        weight += float(cells.weight.sum())
        comparisons += float(cells.comparisons.sum())
    return weight, comparisons


def test_old_pairs_that_are_worth_much_are_found_where_young_ones_are_many() -> None:
    with_weight, spent = _delivered(by_weight=True)
    without, spent_without = _delivered(by_weight=False)
    assert spent == pytest.approx(spent_without, rel=0.1)
    assert with_weight > 1.5 * without


@pytest.mark.parametrize("worth", [np.nan, np.inf, -np.inf, -1.0])
def test_results_that_are_worth_no_number_are_worth_nothing(worth: float) -> None:
    rows = pa.table({"t": [1], "k": [1], "w": [worth]})
    ones = pa.table({"t": [1], "k": [1], "w": [1.0]})
    cells = JoinPartition(WEIGHED, MemoryStore()).join(rows, ones).cells
    assert (cells.results.sum(), cells.weight.sum()) == (1, 0)


def test_rows_that_were_kept_under_another_weight_join_on() -> None:
    """Their part of the new weight is null; what of the old one they had is forgotten."""

    def worth(name: str) -> JoinSpecification:
        def weight(left: pa.Table, right: pa.Table) -> Floats:
            return np.asarray(left[name].to_numpy() * right[name].to_numpy(), np.float64)

        return replace(WEIGHED, weight=weight, weight_columns=((name,), (name,)))

    store = MemoryStore()
    first, second = (f"{WORTH}{number}" for number in range(2))
    keys = {"t": [1, 2], "k": [1, 2]}
    none = pa.table(keys).slice(0, 0)
    JoinPartition(replace(WEIGHED, weight=None), store).join(pa.table(keys), none)
    for number, name in enumerate((first, second)):
        rows = pa.table({"t": [3 + number], "k": [1], name: [2.0]})
        found = JoinPartition(worth(name), store).join(rows, rows)
        assert len(found) == 2 + number
        assert found.cells.weight.sum() == 4.0
    none = pa.table({"t": [5], "k": [1]})
    assert len(JoinPartition(replace(WEIGHED, weight=None), store).join(none, none)) == 4
    kept = [SideRows.from_blob(blob).table.column_names for key, blob in store.blobs.items() if key[0] == 1]
    assert all(len([name for name in names if name.startswith(WORTH)]) <= 1 for names in kept)


def test_what_is_all_but_forgotten_is_no_error() -> None:
    forgotten = Yields((1e6,) * 8, (0.0,) * 7 + (3.8e-305,))
    assert forgotten.per_comparison == pytest.approx((0.0,) * 8)
