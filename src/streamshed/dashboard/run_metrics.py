"""Tells OpenTelemetry the metrics of a run, which pushes them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from itertools import count
from typing import TYPE_CHECKING

from streamshed.closing import Closable
from streamshed.dashboard.following import Reporting
from streamshed.dashboard.metrics import METRICS, Metric, MetricKind, MetricValues
from streamshed.errors import MissingExtraError

if TYPE_CHECKING:
    from opentelemetry.metrics import CallbackOptions, MeterProvider, Observation

_log = logging.getLogger(__name__)
_run_numbers = count(1)


class RunMetrics(Closable):
    """Tells OpenTelemetry the metrics of a run, those that `MetricsServer` serves, until it is closed.

    Use it as a context manager. Counters are observable counters, gauges observable gauges; the SDK asks for their
    values whenever it exports. The scope is named `streamshed`, and has the number of the run in this process as the
    attribute `streamshed.run`: counters of each run begin with 0.

    Args:
        run: The run.
        provider: Where metrics go; None: to the provider that the process has set.

    Raises:
        MissingExtraError: The extra `metrics` is not installed.
    """

    def __init__(self, run: Reporting, *, provider: MeterProvider | None = None) -> None:
        try:
            from opentelemetry import metrics
        except ImportError as error:
            raise MissingExtraError("metrics need a package more: pip install 'streamshed[metrics]'") from error
        self._provider = metrics.get_meter_provider() if provider is None else provider
        self._values, self._is_closed = MetricValues(run, thread="streamshed-pushed-metrics"), False
        meter = self._provider.get_meter("streamshed", attributes={"streamshed.run": next(_run_numbers)})
        for metric in METRICS:
            is_counter = metric.kind is MetricKind.COUNTER
            create = meter.create_observable_counter if is_counter else meter.create_observable_gauge
            create(metric.name, [self._observed(metric)], description=metric.meaning)

    @property
    def has_receiver(self) -> bool:
        """Whether an OpenTelemetry SDK takes them; without one they go nowhere."""
        return hasattr(self._provider, "force_flush")

    def close(self) -> None:
        """Have pushed what has finished meanwhile, and tell nothing more."""
        if self._is_closed:
            return
        self._values.close()
        if self.has_receiver:
            try:
                self._provider.force_flush()  # type: ignore[attr-defined] # of the SDK; the API has no such method
            except Exception as error:  # noqa: BLE001 - the SDK raises `Exception` where exporters do not end in time
                _log.warning("the last metrics may not have been pushed: %s", error)
        self._is_closed = True

    def _observed(self, metric: Metric) -> Callable[[CallbackOptions], Iterable[Observation]]:
        from opentelemetry.metrics import Observation

        def observations(_options: CallbackOptions) -> Iterable[Observation]:
            if not self._is_closed:
                for labels, value in metric.samples(self._values.look()):
                    yield Observation(float(value), dict(zip(metric.labels, labels, strict=True)))

        return observations
