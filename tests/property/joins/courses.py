"""Joins under a load that lasts, partition by partition, as a control loop runs them; and what the full join gives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from streamshed.joins.choose.directive import JoinDirective
from streamshed.joins.learn.knowledge import JoinKnowledge
from streamshed.joins.learn.learned_prices import GUESSED_SECONDS, LearnedPrices
from streamshed.joins.learn.partition_report import PartitionReport
from streamshed.joins.model.arrays import Floats, Ints
from streamshed.joins.model.conditions import Equality
from streamshed.joins.model.join_windows import JoinWindows
from streamshed.joins.model.specification import JoinSpecification
from streamshed.joins.partition.join_result import JoinResult
from streamshed.joins.partition.partition import JoinPartition
from streamshed.joins.windows.join_plan import JoinPlan
from streamshed.joins.windows.store import MemoryStore

PARTITIONS = 2
BY_COMPARISONS = {"comparison": 1e-6, "result": 0.0}
BY_RESULTS = {"comparison": 1e-9, "result": 1e-6}
"""What joins of equal keys cost is mostly their results."""


@dataclass(frozen=True)
class Arrivals:
    """Rows that come together.

    Args:
        times: Of left and of right rows, microseconds, in order.
        keys: Theirs.
        watermark: None of them is older.
    """

    times: tuple[Ints, Ints]
    keys: tuple[Ints, Ints]
    watermark: int

    def of(self, partition: int) -> tuple[pa.Table, pa.Table]:
        """The rows of a partition."""
        left, right = (
            pa.table({"t": times, "k": keys}).filter(pa.array(keys % PARTITIONS == partition))
            for times, keys in zip(self.times, self.keys, strict=True)
        )
        return left, right


@dataclass(frozen=True)
class Course:
    """What came of it, micro-batch by micro-batch.

    Args:
        results: How many there were.
        cost: Seconds that comparisons, results and reads took.
        multiples: How many times the join's size basic windows were.
    """

    results: Floats
    cost: Floats
    multiples: Floats


def run(
    windows: JoinWindows,
    arrivals: Sequence[Arrivals],
    policy: str | None,
    *,
    share: float = 1.0,
    seconds: Mapping[str, float] = BY_COMPARISONS,
    seed: int = 0,
    chooses_size: bool = False,
) -> Course:
    """Run a join, a micro-batch a second, with a share of what the full join costs; without a policy, in full."""
    specification = JoinSpecification(
        windows=windows, condition=Equality(("k",), ("k",)), left_time="t", right_time="t"
    )
    partitions = [JoinPartition(specification, MemoryStore()) for _ in range(PARTITIONS)]
    believed = {**dict.fromkeys(GUESSED_SECONDS, 0.0), **seconds}
    known = JoinKnowledge.initial(windows, prices=LearnedPrices.believing(believed))
    course = []
    for number, one in enumerate(arrivals):
        offered = sum(len(times) for times in one.times)
        directive = None
        if chooses_size and number % 8 == 0:
            known = known.with_chosen_size(share, offered)
        if policy is not None:
            directive = known.directive(policy, share, micro_batch_id=1000 * seed + number, offered_rows=offered)
        found, reports = zip(*_joined(partitions, one, directive, seconds), strict=True)
        known = known.updated(reports, offered_rows=offered, elapsed_seconds=1.0)
        cost = sum(_cost(each, seconds) for each in found)
        course.append((sum(map(len, found)), cost, known.basic_multiple))
    return Course(*np.array(course, np.float64).T)


def _joined(
    partitions: Sequence[JoinPartition],
    arrivals: Arrivals,
    directive: JoinDirective | None,
    seconds: Mapping[str, float],
) -> Iterator[tuple[JoinResult, PartitionReport]]:
    for number, partition in enumerate(partitions):
        left, right = arrivals.of(number)
        plan, expected = JoinPlan(), None
        if directive is not None:
            expected = partition.expected_comparisons(left, right, watermark_microseconds=arrivals.watermark)
            plan = directive.plan(expected, watermark_microseconds=arrivals.watermark)
        found = partition.join(left, right, replace(plan, watermark_microseconds=arrivals.watermark))
        yield found, PartitionReport.of(found, expected, _cost(found, seconds))


def _cost(found: JoinResult, seconds: Mapping[str, float]) -> float:
    reading = seconds.get("read", 0.0) * found.state.basic_windows_read
    return float(seconds["comparison"] * found.cells.comparisons.sum() + seconds["result"] * len(found) + reading)
