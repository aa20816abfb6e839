"""Tells OpenTelemetry the micro-batches of a run as traces."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamshed.closing import Closable
from streamshed.dashboard.following import Follower, Reporting
from streamshed.errors import MissingExtraError

if TYPE_CHECKING:
    from opentelemetry.trace import TracerProvider
    from opentelemetry.util.types import AttributeValue

    from streamshed.spark.loop.run_status import RunStatus

_PREFIX = "streamshed."


class RunTraces(Closable):
    """Tells OpenTelemetry one span per finished micro-batch, with one for each of its steps, until it is closed.

    Use it as a context manager. Spans are made when a micro-batch has finished, with the times that Spark reports: it
    reports how long steps took, and they are drawn one after the other. A run without traces pays nothing for them.

    Args:
        run: The run.
        provider: Where spans go; None: to the provider that the process has set.

    Raises:
        MissingExtraError: The extra `traces` is not installed.
    """

    def __init__(self, run: Reporting, *, provider: TracerProvider | None = None) -> None:
        try:
            from opentelemetry import trace
        except ImportError as error:
            raise MissingExtraError("traces need a package more: pip install 'streamshed[traces]'") from error
        self._trace = trace
        self._provider = trace.get_tracer_provider() if provider is None else provider
        self._tracer = self._provider.get_tracer("streamshed")
        self._follower = Follower(run, self._tell, name="streamshed-traces")

    @property
    def has_receiver(self) -> bool:
        """Whether an OpenTelemetry SDK takes them; without one they go nowhere."""
        return hasattr(self._provider, "force_flush")

    def close(self) -> None:
        """Tell what has finished meanwhile, and nothing more."""
        self._follower.close()

    def _tell(self, status: RunStatus) -> None:
        begin = _nanoseconds(status.started_at_seconds)
        span = self._tracer.start_span(f"{_PREFIX}micro_batch", start_time=begin, attributes=_attributes(status))
        within = self._trace.set_span_in_context(span)
        instant = begin
        for step, seconds in status.steps_seconds.items():
            part = self._tracer.start_span(f"{_PREFIX}{step}", context=within, start_time=instant)
            instant += _nanoseconds(seconds)
            part.end(instant)
        span.end(begin + _nanoseconds(status.processing_seconds))


def _attributes(status: RunStatus) -> dict[str, AttributeValue]:
    """What a micro-batch is looked for by, and what it came to."""
    attributes: dict[str, AttributeValue] = {
        "clock": status.clock,
        "micro_batch_id": status.micro_batch_id,
        "reason": status.reason,
        "explanation": status.explanation,
        "is_shedding": status.is_shedding,
        "offered_rows": status.offered_rows,
        "admitted_rows": status.admitted_rows,
        "backlog_rows": status.backlog_rows,
        "utilization": status.utilization,
        "delay_seconds": status.delay_seconds,
        "answers": sum(query.answers for query in status.queries.values()),
        "missed_goals": status.missed_goals,
    }
    return {f"{_PREFIX}{name}": value for name, value in attributes.items()}


def _nanoseconds(seconds: float) -> int:
    return round(seconds * 1e9)
