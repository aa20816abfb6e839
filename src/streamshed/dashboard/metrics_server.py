"""Tells Prometheus the metrics of a run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from streamshed.closing import Closable
from streamshed.dashboard.following import Follower, Reporting
from streamshed.dashboard.metrics import METRICS, MetricKind
from streamshed.dashboard.run_history import RunHistory
from streamshed.errors import MissingExtraError, PortInUseError

if TYPE_CHECKING:
    from streamshed.spark.loop.run_status import RunStatus


class MetricsServer(Closable):
    """Serves the metrics of a run at `/metrics` until it is closed; use it as a context manager.

    Args:
        run: The run.
        host: Address to listen on.
        port: Port to listen on; 0: any that is free.

    Raises:
        MissingExtraError: The extra `metrics` is not installed.
        PortInUseError: Another program listens there, or the address is not of this machine.
    """

    def __init__(self, run: Reporting, *, host: str = "127.0.0.1", port: int = 9464) -> None:
        try:
            from prometheus_client import CollectorRegistry, start_http_server
        except ImportError as error:
            raise MissingExtraError("metrics need a package more: pip install 'streamshed[metrics]'") from error
        self._run = run
        self._history, self._is_closed = RunHistory(), False
        self._follower = Follower(run, self._take, name="streamshed-metrics")
        registry = CollectorRegistry()
        registry.register(self)
        try:
            self._server, self._thread = start_http_server(port, addr=host, registry=registry)
        except OSError as error:
            self._follower.close()
            raise PortInUseError.of(error, host, port, "metrics") from error

    @property
    def url(self) -> str:
        """Where the metrics are."""
        host, port = self._server.server_address[:2]
        return f"http://{host!s}:{port}/metrics"

    def collect(self) -> Iterator[Any]:
        """Return all metrics as they are now, as `prometheus_client` asks for them."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        self._follower.look()
        history = self._history
        yield GaugeMetricFamily("streamshed_up", "1 while the run is active, else 0.", float(self._run.is_active))
        for metric in METRICS:
            family = (CounterMetricFamily if metric.kind is MetricKind.COUNTER else GaugeMetricFamily)(
                metric.name, metric.meaning, labels=metric.labels
            )
            for labels, value in metric.samples(history):
                family.add_metric(list(labels), float(value))
            yield family

    def close(self) -> None:
        """Stop listening."""
        if self._is_closed:
            return
        self._is_closed = True
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
        self._follower.close()

    def _take(self, status: RunStatus) -> None:
        self._history = self._history.after(status)
