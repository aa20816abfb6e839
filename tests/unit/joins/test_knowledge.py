"""What is known of a join after some micro-batches, against what the next one really compares."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest

from streamshed.joins.choose.directive import JoinDirective
from streamshed.joins.choose.selection import Prices
from streamshed.joins.learn.knowledge import JoinKnowledge, total
from streamshed.joins.learn.learned_prices import GUESSED_SECONDS, LearnedPrices, MicroBatchWork
from streamshed.joins.learn.partition_report import PartitionReport
from streamshed.joins.model.conditions import Equality
from streamshed.joins.model.join_windows import JoinWindows
from streamshed.joins.model.specification import JoinSpecification
from streamshed.joins.partition.partition import JoinPartition
from streamshed.joins.windows.join_plan import JoinPlan
from streamshed.joins.windows.store import MemoryStore
from streamshed.joins.windows.yields import Yields

SECOND = 1_000_000
WINDOWS = JoinWindows(4 * SECOND, 2 * SECOND, SECOND)
LAG_SECONDS = 3


class Join:
    """A join of two streams whose right rows have the key that a left row had three seconds before."""

    def __init__(self, partitions: int = 2) -> None:
        join = JoinSpecification(windows=WINDOWS, condition=Equality(("k",), ("k",)), left_time="t", right_time="t")
        self._partitions = [JoinPartition(join, MemoryStore()) for _ in range(partitions)]
        self._chance = np.random.default_rng(0)
        self._second = 0
        self.known = JoinKnowledge.initial(WINDOWS)

    def step(self, rows_per_side: int, directive: JoinDirective | None = None) -> list[PartitionReport]:
        """Join the rows of a second, of which each partition has its share."""
        begun, self._second = self._second * SECOND, self._second + 1
        reports = []
        for partition in self._partitions:
            times = np.sort(self._chance.integers(begun, begun + SECOND, rows_per_side // len(self._partitions)))
            left, right = (pa.table({"t": times, "k": (times - lag) // 1000}) for lag in (0, LAG_SECONDS * SECOND))
            watermark = begun - SECOND
            expected = None
            plan = JoinPlan(watermark_microseconds=watermark)
            if directive is not None:
                expected = partition.expected_comparisons(left, right, watermark_microseconds=watermark)
                plan = directive.plan(expected, watermark_microseconds=watermark)
            reports.append(PartitionReport.of(partition.join(left, right, plan), expected, 0.01))
        self.known = self.known.updated(reports, offered_rows=2 * rows_per_side, elapsed_seconds=1.0)
        return reports


def test_how_many_rows_come_and_which_share_of_pairs_is_compared_is_measured() -> None:
    """Of two partitions, each compares the rows that it has: half of all pairs."""
    join = Join()
    assert (join.known.arrived.per_second, join.known.compared_share()) == (None, 1.0)
    for _ in range(80):
        join.step(400)
    assert join.known.arrived.per_second == pytest.approx((400.0, 400.0))
    assert join.known.compared_share() == pytest.approx(0.5, abs=0.05)
    assert join.known.compared_share(0.5) == pytest.approx(join.known.compared_share() / 2)
    again = JoinKnowledge.from_document(json.loads(json.dumps(join.known.to_document())), WINDOWS)
    assert again.arrived == join.known.arrived


def test_prices_that_somebody_knows_are_believed_until_others_are_measured() -> None:
    dear = {**GUESSED_SECONDS, "comparison": 1e-6}
    known = JoinKnowledge.initial(WINDOWS, prices=LearnedPrices.believing(dear))
    assert known.prices.by_name == pytest.approx(dear)
    assert known.full_seconds(1000) > JoinKnowledge.initial(WINDOWS).full_seconds(1000)
    prices = known.prices
    for comparisons in (1e6, 2e6, 5e6) * 20:
        work = MicroBatchWork(rows=1000, reads=0, comparisons=comparisons, results=0.0)
        prices = prices.update(work, seconds=0.01 + 2e-9 * comparisons)
    assert 2e-9 < prices.prices.comparison < 1e-8
    # What never came is as it was believed.
    assert prices.prices.result == pytest.approx(dear["result"])


def test_comparisons_of_steady_streams_are_foreseen() -> None:
    join = Join()
    for _ in range(10):
        join.step(2000)
    foreseen = join.known.expected(4000)
    really = total(join.step(2000), "expected")
    assert foreseen.total == pytest.approx(really.sum(), rel=0.05)
    assert foreseen.comparisons == pytest.approx(really, rel=0.1)


@pytest.mark.parametrize("factor", [0.25, 5])
def test_comparisons_of_a_burst_are_foreseen_in_its_first_micro_batch(factor: float) -> None:
    """There are five times as many new rows to compare with the same windows, and with one another."""
    join = Join()
    for _ in range(10):
        join.step(2000)
    foreseen = join.known.expected(round(4000 * factor)).total
    assert foreseen == pytest.approx(total(join.step(round(2000 * factor)), "expected").sum(), rel=0.3)


def test_of_rows_that_never_come_to_the_join_no_comparisons_are_expected() -> None:
    join = Join()
    for _ in range(8):
        reports = join.step(1000)
        join.known = join.known.updated(reports, offered_rows=20_000, elapsed_seconds=0.0)
    assert join.known.taken_share == pytest.approx(0.1)
    assert join.known.expected(20_000).total == pytest.approx(total(join.step(1000), "expected").sum(), rel=0.1)


def test_a_micro_batch_without_rows_changes_no_expectation_of_what_rows_are_compared_with() -> None:
    join = Join()
    for _ in range(6):
        join.step(1000)
    density, cells = join.known.density, join.known.cells
    join.step(0)
    assert (join.known.density, join.known.cells) == (density, cells)
    assert join.known.updated([], offered_rows=5, elapsed_seconds=1.0) is join.known


def test_a_share_of_the_work_is_spent_where_it_yields_most() -> None:
    join = Join()
    for _ in range(8):
        join.step(2000)
    directive = join.known.directive("greedy", 0.3, micro_batch_id=8, offered_rows=4000)
    delivered = directive.delivered_share(join.known.expected(4000))
    reports = join.step(2000, directive)
    made, expected = total(reports, "comparisons"), total(reports, "expected")
    assert made.sum() <= 0.36 * expected.sum()
    assert made[LAG_SECONDS] > 0.9 * expected[LAG_SECONDS]
    assert 0.7 < delivered <= 1


def test_it_is_the_same_after_a_restart() -> None:
    join = Join()
    for _ in range(4):
        join.step(500)
    written = json.loads(json.dumps(join.known.to_document()))
    again = JoinKnowledge.from_document(written, WINDOWS)
    assert again.to_document() == join.known.to_document()
    assert again.full_seconds(1000) == join.known.full_seconds(1000)
    others = JoinWindows(SECOND, SECOND, SECOND)
    assert JoinKnowledge.from_document(written, others).to_document() == JoinKnowledge.initial(others).to_document()


def test_a_directive_is_the_same_once_it_was_written_down() -> None:
    yields = Yields((1e6, 2e6, 3e6), (10.5, 0.0, 7.0))
    directive = JoinDirective(
        policy="direction",
        work_share=0.25,
        yields=yields,
        prices=Prices(comparison=1e-9, result=2e-7, read=3e-5),
        sampling=0.1,
        seed=9,
    )
    assert JoinDirective.from_document(json.loads(json.dumps(directive.to_document()))) == directive


@pytest.mark.parametrize("policy", ["random_drop", "rate_adaptation", "time_correlation", "direction", "greedy"])
def test_more_work_gives_no_fewer_results(policy: str) -> None:
    join = Join()
    for _ in range(8):
        join.step(1000)
    expected = join.known.expected(2000)
    shares = [
        join.known.directive(policy, share, micro_batch_id=1, offered_rows=2000).delivered_share(expected)
        for share in (0.05, 0.2, 0.5, 0.8, 1.0)
    ]
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1.0)
    assert shares[0] > 0
