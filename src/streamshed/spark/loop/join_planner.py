"""The driver's side of joins: what the next micro-batch of each takes, how much of it is done, and what came of it."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from streamshed.errors import InvalidNetworkError
from streamshed.joins.choose.directive import JoinDirective
from streamshed.joins.learn.knowledge import JoinKnowledge, total
from streamshed.joins.learn.learned_prices import LearnedPrices
from streamshed.joins.learn.partition_report import PartitionReport
from streamshed.joins.model.arrays import Floats
from streamshed.joins.model.side import Side
from streamshed.joins.windows.forgotten import EventTimes
from streamshed.network.model.join_source import JoinSource
from streamshed.network.model.network import TimeDomain
from streamshed.network.model.stream import Stream
from streamshed.network.terms.join_shedding import JoinMode, JoinShedding
from streamshed.planning.tree.quantization import code_of, sampling_rate_of
from streamshed.spark.joins.join_memory import HeldWindows
from streamshed.spark.joins.join_reports import JoinReports
from streamshed.spark.joins.join_rows import windows_of
from streamshed.spark.loop.run_status import JoinStatus
from streamshed.spark.plan.plan_row import StreamPlan
from streamshed.statistics.join_statistics import JoinStatistics

UNIT_SECONDS = 1e-6
"""A unit of work of a join, that rows of joined streams are counted in: what takes a microsecond of a core."""
_PRICE_FIELDS = {
    "fixed": "fixed_seconds",
    "row": "seconds_per_row",
    "read": "seconds_per_basic_window",
    "comparison": "seconds_per_comparison",
    "result": "seconds_per_result",
}
"""Where statistics tell what a join learns, by the names of `LearnedPrices.by_name`."""
_FULL = 0.999
_CHOSEN_EVERY = 8
"""In every eighth micro-batch sizes of basic windows are compared: to cut them anew takes reading all that is there."""
_KEPT_STEPS = 4
"""So many steps of rates are 0.75 of a rate."""
_MEMORY = "memory"
_ROUNDED = 1e-6
"""What shares of rows may be off by when they are added up."""


def refuse_what_joins_cannot(domain: TimeDomain, whole: Mapping[str, Sequence[str]] = MappingProxyType({})) -> None:
    """Refuse settings of joins that a network can say, but no run can heed.

    Args:
        domain: Its joins.
        whole: By stream, the queries that need all of its rows.

    Raises:
        InvalidNetworkError: Listing them.
    """
    problems = []
    for stream in domain.joined:
        shedding = JoinShedding() if stream.joined is None else stream.joined.shedding
        if stream.name not in whole:
            continue
        queries = ", ".join(f'"{name}"' for name in whole[stream.name])
        if shedding.mode is JoinMode.SAMPLE:
            problems.append(
                f'stream "{stream.name}": its join is mode="sample", but {queries} cannot be answered from a sample:'
                " leave mode out, or give such queries another mode or other aggregates?"
            )
        if shedding.memory_bytes is not None:
            problems.append(
                f'stream "{stream.name}": with memory its join forgets rows, but {queries} cannot be answered from'
                " a part of it: leave memory out, or give such queries another mode or other aggregates?"
            )
    if problems:
        raise InvalidNetworkError(*problems)


@dataclass(frozen=True, kw_only=True)
class JoinOutcome:
    """The outcome of a join in a micro-batch.

    Attributes:
        work_per_row: Units of work that a row of its streams would have been, had the join been done fully.
        status: What it did.
    """

    work_per_row: float
    status: JoinStatus


class JoinPlanner:
    """Plans the joins of a time domain, and learns from what their partitions tell.

    Args:
        streams: The streams of the domain.
        sheddable: Names of joined streams whose queries all may be answered from a part of the join.
        take_reports: Returns what partitions told since it was last asked.
        knowledge_json: What `to_json` wrote before a restart; None: nothing is known.
        believed: What joins are believed to take, by joined stream, until it is measured.
        parallel_tasks: How many tasks run at a time where that is believed.
        partitions: Of state.
        is_advisory: Whether nothing is shed and limits of memory do not hold.
    """

    def __init__(
        self,
        streams: Sequence[Stream],
        sheddable: AbstractSet[str],
        take_reports: Callable[[], JoinReports],
        knowledge_json: str | None = None,
        *,
        believed: Mapping[str, JoinStatistics] = MappingProxyType({}),
        parallel_tasks: int = 1,
        partitions: int = 1,
        is_advisory: bool = False,
    ) -> None:
        self._joins = {stream.name: stream.joined for stream in streams if stream.joined is not None}
        self._sheddable = sheddable
        self._take_reports = take_reports
        self._reports: JoinReports = {}
        written: Mapping[str, Mapping[str, Any]] = {} if knowledge_json is None else json.loads(knowledge_json)
        self._knowledge = {
            name: _restored(join, written.get(name), _prices(believed.get(name), parallel_tasks))
            for name, join in self._joins.items()
        }
        self._held = {
            name: HeldWindows.of(join, partitions, written.get(name, {}).get(_MEMORY), is_limited=not is_advisory)
            for name, join in self._joins.items()
        }

    def sheds(self, stream: str) -> bool:
        """Return whether it is the join of a stream that may be done in part."""
        return stream in self._sheddable and stream in self._joins

    def work_per_row(self, rows: Mapping[str, int]) -> dict[str, float]:
        """Return, by joined stream, how many units of work a row of its streams is, if the join is done fully.

        Args:
            rows: By source, what is offered; where that is not known, it is taken to be as before.
        """
        return {
            name: self._knowledge[name].full_seconds(offered) / UNIT_SECONDS / offered
            for name in self._joins
            if (offered := self._offered(name, rows) or self._knowledge[name].last_rows)
        }

    def directive(
        self,
        stream: str,
        work_share: float,
        *,
        micro_batch_id: int,
        rows: Mapping[str, int],
        last: JoinDirective | None = None,
    ) -> JoinDirective | None:
        """Return what the partitions of a join are to do; None: all of it.

        Args:
            stream: The joined stream.
            work_share: The share of the work on its rows that there is time for.
            micro_batch_id: Which.
            rows: As in `work_per_row`.
            last: What they were told in the micro-batch before.
        """
        if stream not in self._joins:
            return None
        self._take()
        memory = self._held[stream].shares(last)
        is_full = not self.sheds(stream) or work_share >= _FULL
        if is_full and memory is None:
            return None
        offered = self._offered(stream, rows) or self._knowledge[stream].last_rows
        shedding, is_due = self._joins[stream].shedding, micro_batch_id % _CHOSEN_EVERY == 0
        if self._joins[stream].chooses_basic and not is_full and is_due:
            self._knowledge[stream] = self._knowledge[stream].with_chosen_size(work_share, offered)
        directive = self._knowledge[stream].directive(
            shedding.policy,
            1.0 if is_full else work_share,
            micro_batch_id=micro_batch_id,
            offered_rows=offered,
            sampling=shedding.sampling,
        )
        if self._joins[stream].is_sampled and not is_full:
            return _drawing(directive, last)
        return replace(directive, memory=memory)

    def directives(
        self,
        work_shares: Mapping[str, float],
        *,
        micro_batch_id: int,
        rows: Mapping[str, int],
        last: Mapping[str, StreamPlan],
    ) -> dict[str, JoinDirective]:
        """Return what the partitions of the joins that are done in part are to do, by joined stream.

        Args:
            work_shares: By stream, the share of the work on its rows that there is time for; others have all of it.
            micro_batch_id: Which.
            rows: As in `work_per_row`.
            last: What streams were told in the micro-batch before.
        """
        directives = {
            name: self.directive(
                name,
                work_shares.get(name, 1.0),
                micro_batch_id=micro_batch_id,
                rows=rows,
                last=last[name].join if name in last else None,
            )
            for name in self._joins
        }
        return {name: directive for name, directive in directives.items() if directive is not None}

    def missing(
        self, stream: str, micro_batch_id: int, last: JoinDirective | None, *, opened: int
    ) -> tuple[tuple[EventTimes, ...], float]:
        """Return the event times of results that are missing for rows that were released, and the share that is not.

        Args:
            stream: The joined stream.
            micro_batch_id: The micro-batch that is planned.
            last: What partitions were told in the one before.
            opened: The watermark, microseconds.
        """
        held = self._held[stream]
        return held.missing_times(micro_batch_id, last, opened=opened), held.delivered_share

    def delivered_share(self, stream: str, directive: JoinDirective, rows: Mapping[str, int]) -> float:
        """Return the share of the results of a join that is to be expected."""
        return directive.delivered_share(self._knowledge[stream].expected(self._offered(stream, rows)))

    def learn(self, micro_batch_id: int, rows: Mapping[str, int], *, elapsed_seconds: float) -> dict[str, JoinOutcome]:
        """Take in what partitions reported of a micro-batch, and return the outcome of each of its joins.

        Args:
            micro_batch_id: Which.
            rows: By source, what was offered.
            elapsed_seconds: Since the one before.
        """
        self._take()
        # Tasks of the next micro-batch may have reported already.
        reports = {key: one for key, one in self._reports.items() if key.micro_batch_id == micro_batch_id}
        self._reports = {key: one for key, one in self._reports.items() if key.micro_batch_id > micro_batch_id}
        outcomes = {}
        for name, join in self._joins.items():
            join_reports = [one for key, one in reports.items() if key.stream == name]
            if not join_reports:
                continue
            offered = self._offered(name, rows)
            self._knowledge[name] = self._knowledge[name].updated(
                join_reports, offered_rows=offered, elapsed_seconds=elapsed_seconds
            )
            outcomes[name] = _outcome(join, self._knowledge[name], join_reports, offered)
        return outcomes

    def statistics(
        self, parallel_tasks: int, event_seconds_per_second: Callable[[str], float] = lambda _stream: 1.0
    ) -> dict[str, JoinStatistics]:
        """Return the statistics of each join that has been measured, by joined stream.

        Args:
            parallel_tasks: How many tasks run at a time; costs per core are divided by it.
            event_seconds_per_second: How fast event time goes by in the joined stream of a name.
        """
        self._take()
        return {
            name: _statistics(knowledge, parallel_tasks, event_seconds_per_second(name))
            for name, knowledge in self._knowledge.items()
            if knowledge.arrived.left + knowledge.arrived.right > 0
        }

    def to_json(self) -> str:
        """Return what was learned of the joins, for a restart."""
        self._take()
        return json.dumps(
            {
                name: {**knowledge.to_document(), _MEMORY: self._held[name].to_document()}
                for name, knowledge in self._knowledge.items()
            }
        )

    def _take(self) -> None:
        taken = self._take_reports()
        self._reports |= taken
        for name, held in self._held.items():
            self._held[name] = held.taken(name, taken, self._knowledge[name].results_per_comparison)

    def _offered(self, stream: str, rows: Mapping[str, int]) -> int:
        join = self._joins[stream]
        return sum(rows.get(name, 0) for name in {side.stream.name for side in (join.left, join.right)})


def _drawing(directive: JoinDirective, last: JoinDirective | None) -> JoinDirective:
    """The directive with the rate at which rows are drawn.

    A rate that is a little smaller than could be stays as it is: state has a group of its own for each rate.
    """
    code = code_of(directive.work_share)
    before = 0 if last is None else last.sampling_code
    code = before if code < before <= code + _KEPT_STEPS else max(code, 1)
    return replace(directive, work_share=sampling_rate_of(code), sampling_code=code)


def _restored(join: JoinSource, written: Mapping[str, Any] | None, prices: LearnedPrices | None) -> JoinKnowledge:
    windows = windows_of(join)
    weight = None if join.shedding.weight is None else join.shedding.weight.canonical
    if written is None:
        return JoinKnowledge.initial(windows, weight, prices)
    knowledge = JoinKnowledge.from_document(written, windows, weight, prices)
    return knowledge if join.chooses_basic else replace(knowledge, basic_multiple=1)


def _prices(believed: JoinStatistics | None, parallel_tasks: int) -> LearnedPrices | None:
    """What statistics say that everything takes, of a core."""
    if believed is None:
        return None
    return LearnedPrices.believing(
        {name: parallel_tasks * float(getattr(believed, field)) for name, field in _PRICE_FIELDS.items()}
    )


def _statistics(knowledge: JoinKnowledge, parallel_tasks: int, event_seconds_per_second: float) -> JoinStatistics:
    left, right = knowledge.arrived.per_second or (None, None)
    seconds = knowledge.prices.by_name
    return JoinStatistics(
        left_rows_per_second=left,
        right_rows_per_second=right,
        compared_share=knowledge.compared_share(event_seconds_per_second),
        results_per_comparison=knowledge.mean_yield,
        **{field: seconds[name] / parallel_tasks for name, field in _PRICE_FIELDS.items()},
    )


def _outcome(
    join: JoinSource, knowledge: JoinKnowledge, reports: Sequence[PartitionReport], offered: int
) -> JoinOutcome:
    expected, made = total(reports, "expected"), total(reports, "comparisons")
    missed = (expected - made).clip(0.0)
    prices, results = knowledge.choice_prices, float(total(reports, "results").sum())
    missed_results = float((missed * knowledge.results_per_comparison).sum())
    missed_seconds = prices.comparison * float(missed.sum()) + prices.result * missed_results
    made_seconds = prices.comparison * float(made.sum()) + prices.result * results
    full_seconds = sum(report.seconds for report in reports) + missed_seconds
    left, right = (windows_of(join).cells_of_side(side) for side in Side)
    status = JoinStatus(
        basic_window_seconds=knowledge.basic_multiple * knowledge.windows.basic_microseconds / 1e6,
        work_share=made_seconds / (made_seconds + missed_seconds) if missed_seconds else 1.0,
        left_share=_share(made[left], expected[left]),
        right_share=_share(made[right], expected[right]),
        yields=knowledge.yields.per_comparison,
        comparisons=float(made.sum()),
        results=results,
        weight=float(total(reports, "weight").sum()),
        late_rows=round(sum(report.late_rows for report in reports)),
        stored_rows=round(sum(report.stored_rows for report in reports)),
        stored_bytes=sum(report.stored_bytes for report in reports),
        released_rows=math.ceil(sum(report.released_rows for report in reports) - _ROUNDED),
        sampling_rate=min(report.sampling_rate for report in reports),
        missed_results=float((total(reports, "missed_comparisons") * knowledge.results_per_comparison).sum()),
    )
    return JoinOutcome(work_per_row=full_seconds / UNIT_SECONDS / offered if offered else 0.0, status=status)


def _share(made: Floats, of: Floats) -> float:
    return min(1.0, float(made.sum() / of.sum())) if of.sum() else 1.0
