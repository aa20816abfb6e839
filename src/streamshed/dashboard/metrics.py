"""The metrics of a run: which there are, what they mean, and their values now."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from streamshed.dashboard.following import Follower, Reporting
from streamshed.dashboard.run_history import DomainSoFar, RunHistory

if TYPE_CHECKING:
    from streamshed.spark.loop.run_status import QueryStatus, RunStatus

Labels = tuple[str, ...]
Samples = Iterator[tuple[Labels, float]]


class MetricKind(StrEnum):
    """How a metric behaves over time."""

    COUNTER = "counter"
    """It only grows, from 0 at the start of the run; its name ends in `_total`."""

    GAUGE = "gauge"
    """It is what it is now."""


@dataclass(frozen=True, slots=True)
class RunNow:
    """What the values of metrics come from.

    Attributes:
        is_active: Whether the run is active.
        history: What it has done so far.
    """

    is_active: bool
    history: RunHistory


@dataclass(frozen=True)
class Metric:
    """One metric.

    Attributes:
        name: Its name, with `streamshed_` before it and its unit in it.
        kind: How it behaves.
        labels: Names of what its samples are told apart by.
        meaning: What it says, as a sentence.
        samples: Its values.
    """

    name: str
    kind: MetricKind
    labels: Labels
    meaning: str
    samples: Callable[[RunNow], Samples]


def _of_domains(value: Callable[[DomainSoFar], float | None]) -> Callable[[RunNow], Samples]:
    def samples(now: RunNow) -> Samples:
        for clock, domain in now.history.domains.items():
            if (number := value(domain)) is not None:
                yield (clock,), number

    return samples


def _of_each(values: Callable[[DomainSoFar], Mapping[str, float]]) -> Callable[[RunNow], Samples]:
    def samples(now: RunNow) -> Samples:
        for clock, domain in now.history.domains.items():
            for name, number in values(domain).items():
                yield (clock, name), number

    return samples


def _of_queries(value: Callable[[QueryStatus], float | None]) -> Callable[[RunNow], Samples]:
    def samples(now: RunNow) -> Samples:
        for name, query in now.history.queries.items():
            if (number := value(query)) is not None:
                yield (name,), number

    return samples


def _of_queries_now(values: Callable[[DomainSoFar], Mapping[str, float]]) -> Callable[[RunNow], Samples]:
    def samples(now: RunNow) -> Samples:
        for domain in now.history.domains.values():
            for name, number in values(domain).items():
                yield (name,), number

    return samples


def _answers(now: RunNow) -> Samples:
    for name, query in now.history.queries.items():
        yield (name, "exact"), query.exact_answers
        yield (name, "estimated"), query.answers - query.exact_answers


def _workers(now: RunNow) -> Samples:
    for clock, domain in now.history.domains.items():
        if (scaling := domain.latest.scaling) is not None:
            for state in ("running", "starting", "wanted"):
                yield (clock, state), getattr(scaling, f"workers_{state}")


def _joins(name: str) -> Callable[[RunNow], Samples]:
    return _of_each(lambda domain: {stream: getattr(join, name) for stream, join in domain.latest.joins.items()})


_COUNTER, _GAUGE = MetricKind.COUNTER, MetricKind.GAUGE
_CLOCK, _QUERY, _REASON, _JOIN = ("clock",), ("query",), ("clock", "reason"), ("clock", "join")

METRICS = (
    Metric(
        "streamshed_up",
        _GAUGE,
        (),
        "1 while the run is active, else 0.",
        lambda now: iter([((), float(now.is_active))]),
    ),
    Metric(
        "streamshed_micro_batches_total",
        _COUNTER,
        _REASON,
        "Micro-batches that finished, by the reason of their decision.",
        _of_each(lambda domain: domain.micro_batches),
    ),
    Metric(
        "streamshed_shedding_seconds_total",
        _COUNTER,
        _REASON,
        "Processing time of micro-batches that shed, by the reason of their decision.",
        _of_each(lambda domain: domain.shedding_seconds),
    ),
    Metric(
        "streamshed_processing_seconds_total",
        _COUNTER,
        _CLOCK,
        "Processing time of all micro-batches.",
        _of_domains(lambda domain: domain.processing_seconds),
    ),
    Metric(
        "streamshed_late_seconds_total",
        _COUNTER,
        _CLOCK,
        "Processing time of micro-batches whose answers came later than the latency goal.",
        _of_domains(lambda domain: domain.late_seconds),
    ),
    Metric(
        "streamshed_offered_rows_total",
        _COUNTER,
        _CLOCK,
        "Rows that came.",
        _of_domains(lambda domain: domain.offered_rows),
    ),
    Metric(
        "streamshed_admitted_rows_total",
        _COUNTER,
        _CLOCK,
        "Rows that passed the samplers.",
        _of_domains(lambda domain: domain.admitted_rows),
    ),
    Metric(
        "streamshed_unreadable_rows_total",
        _COUNTER,
        _CLOCK,
        "Rows that could not be read, and were set aside.",
        _of_domains(lambda domain: domain.latest.unreadable_rows),
    ),
    Metric(
        "streamshed_lost_rows_total",
        _COUNTER,
        _CLOCK,
        "Rows that a broker had deleted before they were read.",
        _of_domains(lambda domain: domain.latest.lost_rows),
    ),
    Metric(
        "streamshed_skipped_rows_total",
        _COUNTER,
        _CLOCK,
        "Rows that were skipped, older than max_age, about.",
        _of_domains(lambda domain: domain.skipped_rows),
    ),
    Metric(
        "streamshed_late_pairs_total",
        _COUNTER,
        _CLOCK,
        "Pairs of a row and a window that came when the window had closed.",
        _of_domains(lambda domain: domain.late_pairs),
    ),
    Metric(
        "streamshed_missed_goals_total",
        _COUNTER,
        ("clock", "query"),
        "Micro-batches in which the load did not allow to keep to the `max_error` of a query.",
        _of_each(lambda domain: domain.missed_goals),
    ),
    Metric(
        "streamshed_delay_seconds",
        _GAUGE,
        _CLOCK,
        "From the arrival of the oldest row of the latest micro-batch to its answers.",
        _of_domains(lambda domain: domain.latest.delay_seconds),
    ),
    Metric(
        "streamshed_latency_goal_seconds",
        _GAUGE,
        _CLOCK,
        "How long after their rows answers should come at most.",
        _of_domains(lambda domain: domain.latest.latency_goal_seconds),
    ),
    Metric(
        "streamshed_trigger_interval_seconds",
        _GAUGE,
        _CLOCK,
        "How often a micro-batch is to start.",
        _of_domains(lambda domain: domain.latest.trigger_interval_seconds),
    ),
    Metric(
        "streamshed_utilization_ratio",
        _GAUGE,
        _CLOCK,
        "Processing time of the latest micro-batch as a share of the trigger interval.",
        _of_domains(lambda domain: domain.latest.utilization),
    ),
    Metric(
        "streamshed_is_shedding",
        _GAUGE,
        _CLOCK,
        "1 while rows, windows or results of joins are shed, else 0.",
        _of_domains(lambda domain: float(domain.latest.is_shedding)),
    ),
    Metric(
        "streamshed_backlog_rows",
        _GAUGE,
        _CLOCK,
        "Rows known to wait for a later micro-batch.",
        _of_domains(lambda domain: domain.latest.backlog_rows),
    ),
    Metric(
        "streamshed_state_rows",
        _GAUGE,
        _CLOCK,
        "Groups held in state, all stages together.",
        _of_domains(lambda domain: domain.latest.state_rows),
    ),
    Metric(
        "streamshed_state_bytes",
        _GAUGE,
        _CLOCK,
        "How much they take.",
        _of_domains(lambda domain: domain.latest.state_bytes),
    ),
    Metric(
        "streamshed_watermark_timestamp_seconds",
        _GAUGE,
        _CLOCK,
        "Event time before which all windows are closed, seconds since 1970.",
        _of_domains(lambda domain: domain.latest.watermark_seconds),
    ),
    Metric(
        "streamshed_last_micro_batch_timestamp_seconds",
        _GAUGE,
        _CLOCK,
        "When the latest micro-batch that finished had started, seconds since 1970.",
        _of_domains(lambda domain: domain.latest.started_at_seconds),
    ),
    Metric(
        "streamshed_answers_total",
        _COUNTER,
        ("query", "exactness"),
        "Answers delivered: `exact`, or `estimated` from a sample or a sketch.",
        _answers,
    ),
    Metric(
        "streamshed_delivered_rows_total",
        _COUNTER,
        _QUERY,
        "Rows delivered, of queries for rows.",
        _of_queries(lambda query: query.rows or None),
    ),
    Metric(
        "streamshed_gaps_total",
        _COUNTER,
        _QUERY,
        "Windows that were dropped, began before the query was added, or need rows that were skipped.",
        _of_queries(lambda query: query.gaps),
    ),
    Metric(
        "streamshed_predictions_total",
        _COUNTER,
        _QUERY,
        "Predictions that were written of dropped windows.",
        _of_queries(lambda query: query.predictions or None),
    ),
    Metric(
        "streamshed_sampling_ratio",
        _GAUGE,
        _QUERY,
        "The share of its rows that a query is answered from now, at least.",
        _of_queries_now(lambda domain: domain.latest.effective_sampling_rates),
    ),
    Metric(
        "streamshed_kept_windows_ratio",
        _GAUGE,
        _QUERY,
        "The share of its windows that a query in mode `subset` is to keep now.",
        _of_queries_now(lambda domain: domain.latest.kept_shares),
    ),
    Metric(
        "streamshed_relative_error_ratio",
        _GAUGE,
        _QUERY,
        "Half the width of the bounds by the value, mean over its latest answers.",
        _of_queries(lambda query: query.relative_error),
    ),
    Metric(
        "streamshed_join_work_ratio",
        _GAUGE,
        _JOIN,
        "The share of the cost of the full join that was spent.",
        _joins("work_share"),
    ),
    Metric(
        "streamshed_join_stored_bytes",
        _GAUGE,
        _JOIN,
        "How large the rows are that a join stores.",
        _joins("stored_bytes"),
    ),
    Metric(
        "streamshed_workers",
        _GAUGE,
        ("clock", "state"),
        "Workers that are `running` and `starting`, and how many are `wanted`.",
        _workers,
    ),
    Metric(
        "streamshed_lost_workers_total",
        _COUNTER,
        _CLOCK,
        "Workers that were lost without having been released.",
        _of_domains(lambda domain: None if domain.latest.scaling is None else domain.latest.scaling.workers_replaced),
    ),
    Metric(
        "streamshed_worker_skew_ratio",
        _GAUGE,
        _CLOCK,
        "How many times busier than the average the busiest worker is.",
        _of_domains(lambda domain: None if domain.latest.scaling is None else domain.latest.scaling.skew),
    ),
)
"""All of them, in the order in which they are told."""


class MetricValues:
    """Follows a run, so that its metrics have values, until it is closed.

    Args:
        run: The run.
        thread: The name of the thread that follows it.
    """

    def __init__(self, run: Reporting, *, thread: str) -> None:
        self._run, self._history = run, RunHistory()
        self._follower = Follower(run, self._take, name=thread)

    def look(self) -> RunNow:
        """Take in what has finished meanwhile, and return what values come from."""
        self._follower.look()
        return RunNow(self._run.is_active, self._history)

    def close(self) -> None:
        """Take in what has finished meanwhile, and follow the run no longer."""
        self._follower.close()

    def _take(self, status: RunStatus) -> None:
        self._history = self._history.after(status)
