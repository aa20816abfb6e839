"""The last stage: window partials become answers in Arrow tables, in Python, where Spark's tasks run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np
import pyarrow as pa
from pyspark.accumulators import Accumulator
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from streamshed.answering.answer.answering import Answering
from streamshed.answering.derive.derived_answers import GROUP, DerivedAnswers, whole_groups
from streamshed.answering.table.answer_schema import ANSWER, ANSWER_DDL, UNREADABLE
from streamshed.answering.table.dropped_windows import COHORT, Dropped, DroppedWindows, is_carried, is_dropped, together
from streamshed.answering.table.leading_answers import leading_answers, leading_of
from streamshed.answering.table.summary import Summary, added, summarized
from streamshed.answering.table.window_partials import WindowPartials
from streamshed.network.terms.cohorts import part_of
from streamshed.network.terms.window import WindowSpecification
from streamshed.planning.window_drop.track.stale import Stale, stale_runs
from streamshed.planning.window_drop.track.window_drops import NOTHING_DROPPED, WindowDrops
from streamshed.sharing.intake import Share
from streamshed.spark.admit.set_aside import SetAside
from streamshed.spark.common.gathered import gathered
from streamshed.spark.common.group_cohort import state_cohort
from streamshed.spark.common.in_arrow import in_arrow
from streamshed.spark.common.running_task import micro_batch_id, partition_id, query_id
from streamshed.spark.common.valid_texts import valid_texts
from streamshed.spark.plan.plan_client import PlanClient
from streamshed.spark.windows.finished_answers import FeedingAggregate, Listener
from streamshed.spark.windows.nested_windows import Nested, ending_of
from streamshed.spark.windows.unseen_windows import unseen_windows
from streamshed.spark.windows.window_sums import window_sums
from streamshed.statistics.measured import WindowSums, summed


@dataclass(frozen=True)
class TaskSummary:
    """What a task answered.

    Attributes:
        answers: Tallies.
        sums: Sums over the windows behind them.
        leading: The leading answers; None: it answers nothing that is delivered.
    """

    answers: Summary
    sums: Mapping[Share, WindowSums]
    leading: pa.Table | None = None


Summaries = dict[tuple[int, int, int], TaskSummary]
"""By micro-batch, level and partition: what a task that is run again says replaces what it said."""

_LAST_LEVEL = 0


def new_summaries(spark: SparkSession) -> Accumulator[Summaries]:
    """Return what tasks tell their summaries to."""
    return gathered(spark)


def answer_frame(partials: DataFrame, answering: Answering, nested: Nested = MappingProxyType({})) -> DataFrame:
    """Turn window partials into rows of the answer schema, those that could not be read among them.

    Args:
        partials: What `compiled_partials` returns.
        answering: Of the network.
        nested: Its queries over answers of others, and those between.
    """

    def answered(record_batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for record_batch in whole_groups(record_batches, answering.derived.definitions):
            yield from answering.answers(WindowPartials(record_batch))

    return in_arrow(_flat(partials, nested, answering.derived), answered, ANSWER_DDL)


def streaming_answer_frame(  # noqa: PLR0913 - all that answers depend on, each by its name
    partials: DataFrame,
    answering: Answering,
    client: PlanClient | None,
    set_aside: str,
    summaries: Accumulator[Summaries],
    nested: Nested = MappingProxyType({}),
    fixed: WindowDrops = NOTHING_DROPPED,
    *,
    windows: Mapping[int, Sequence[WindowSpecification]] = MappingProxyType({}),
    has_cohorts: bool = False,
) -> DataFrame:
    """Turn each micro-batch's window partials into rows of the answer schema, and set aside what could not be read.

    Args:
        partials: What `compiled_partials` returns.
        answering: Of the network.
        client: Asks for the plan of a micro-batch, which tells what was shed of late; None: nothing is ever shed.
        set_aside: Folder for rows that could not be read.
        summaries: Told what each partition answered, when all of it is computed.
        nested: The network's queries over answers of others, and those between.
        fixed: Which windows are dropped where there is nobody to ask.
        windows: `Query.windows`, by `Query.definition_id`: a plan tells from when on they are whole, and which rows of
            theirs were too old.
        has_cohorts: Whether any query may drop windows by group, or did so before.
    """

    def answered(record_batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        number, partition = micro_batch_id(), partition_id()
        plan = None if client is None else client.plan(number)
        shed, partly_joined, lost = ((), (), ()) if plan is None else (plan.shed, plan.partly_joined, plan.lost)
        usual, ranges = ({}, {}) if plan is None else (plan.effective_shares, plan.usual_ranges)
        drops = fixed if plan is None else plan.drops
        dropped = together(dropped_windows(drops), stale_windows(windows, drops.stale))
        dropped = together(dropped, unseen_windows(windows, {} if plan is None else plan.whole_since))
        report = _TaskReport()
        for record_batch in whole_groups(record_batches, answering.derived.definitions):
            partials_of_windows = WindowPartials(record_batch)
            partials_in_time = _answered(partials_of_windows, dropped, answering.definitions_by_count)
            report.sums.append(window_sums(partials_in_time, answering.carried.sums(partials_in_time)))
            for answers in answering.answers(partials_of_windows, shed, dropped, partly_joined, usual, lost, ranges):
                if report.takes(answers):
                    yield answers
        SetAside(set_aside, query_id(), number).put(partition, report.unreadable)
        summaries.add({(number, _LAST_LEVEL, partition): report.summary()})

    flat = _flat(partials, nested, answering.derived)
    if has_cohorts:
        flat = flat.withColumn(COHORT, state_cohort(F.col("key_long"), F.col("key_text")))
    return in_arrow(flat, answered, ANSWER_DDL)


@dataclass
class _TaskReport:
    """What a task has answered so far, and the rows that could not be read."""

    tallies: list[Summary] = field(default_factory=list)
    sums: list[Mapping[Share, WindowSums]] = field(default_factory=list)
    leading: list[pa.Table] = field(default_factory=list)
    unreadable: list[pa.RecordBatch] = field(default_factory=list)

    def takes(self, answers: pa.RecordBatch) -> bool:
        """Take in answers of one kind, and return whether they are delivered."""
        self.tallies.append(summarized(answers))
        self.leading.append(leading_answers(answers))
        if answers.column("kind")[0].as_py() != UNREADABLE:
            return True
        self.unreadable.append(answers)
        return False

    def summary(self) -> TaskSummary:
        return TaskSummary(added(self.tallies), summed(self.sums), leading_of(self.leading))


def listener_of(
    feeds: Sequence[FeedingAggregate], level: int, client: PlanClient | None, summaries: Accumulator[Summaries]
) -> Listener:
    """Return what adds up the windows whose answers are rows of a level, and reports the sums.

    While all queries that rest on an aggregate drop windows, or miss old rows, its sums are left out: not all of its
    rows are there.

    Args:
        feeds: Its aggregates.
        level: The level's number.
        client: As in `streaming_answer_frame`.
        summaries: Takes the sums.
    """
    askers = {feed.definition_id: feed.askers for feed in feeds}

    def tell_sums(partials: WindowPartials) -> None:
        number = micro_batch_id()
        plan = None if client is None else client.plan(number)
        dropping = frozenset() if plan is None else plan.drops.missing
        thinned = [definition for definition, own in askers.items() if dropping >= set(own)]
        is_whole = ~np.isin(partials.longs("definition_id"), thinned)
        sums = window_sums(partials.take(np.flatnonzero(is_whole)))
        summaries.add({(number, level, partition_id()): TaskSummary({}, sums)})

    return tell_sums


def dropped_windows(drops: WindowDrops) -> dict[int, list[DroppedWindows]]:
    """Return which windows a plan drops, by `Query.definition_id`."""
    dropped: dict[int, list[DroppedWindows]] = {}
    for name, decision in drops.queries.items():
        if decision.dropped:
            definition, cohort = part_of(name)
            windows = DroppedWindows(
                decision.coin.window, decision.dropped, decision.shut, decision.for_state, cohort, decision.elsewhere
            )
            dropped.setdefault(definition, []).append(windows)
    return dropped


def stale_windows(windows: Mapping[int, Sequence[WindowSpecification]], stale: Stale) -> Dropped:
    """Return the windows of queries that need rows which were skipped as too old.

    Args:
        windows: `Query.windows`, by `Query.definition_id`.
        stale: The event times of these rows; other queries may be among them, and queries for rows.
    """
    dropped: dict[int, list[DroppedWindows]] = {}
    for definition_id in stale.keys() & windows.keys():
        of_query = windows[definition_id]
        runs = stale_runs(of_query, stale[definition_id])
        dropped[definition_id] = [DroppedWindows(of_query[-1], runs, stale=runs)]
    return dropped


def _answered(partials: WindowPartials, dropped: Dropped, by_count: Sequence[int]) -> WindowPartials:
    """What tells of windows in time: of a dropped one, not all rows are there."""
    is_left_out = is_dropped(partials, dropped) | is_carried(partials)
    if by_count:
        is_left_out |= np.isin(partials.longs("definition_id"), by_count)
    return partials.take(np.flatnonzero(~is_left_out)) if is_left_out.any() else partials


def _flat(partials: DataFrame, nested: Nested, derived: DerivedAnswers) -> DataFrame:
    """Say where windows end, and bring together within the micro-batch what answers are worked out of."""
    if derived.definitions:
        partials = partials.repartition(*GROUP)
    closes, is_answer = F.unix_micros("closes"), F.col("kind") == ANSWER
    ends = F.when(is_answer, ending_of(nested, F.col("definition_id"), F.col("window_start"), closes)).otherwise(closes)
    ends = (ends if nested else closes).alias("window_end")
    return valid_texts(partials.select(ends, *[name for name in partials.columns if name != "closes"]))
