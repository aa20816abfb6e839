"""Tells Prometheus the metrics of a run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from streamshed.closing import Closable
from streamshed.dashboard.following import Reporting
from streamshed.dashboard.metrics import METRICS, MetricKind, MetricValues
from streamshed.errors import MissingExtraError, PortInUseError


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
        self._values, self._is_closed = MetricValues(run, thread="streamshed-metrics"), False
        registry = CollectorRegistry()
        registry.register(self)
        try:
            self._server, self._thread = start_http_server(port, addr=host, registry=registry)
        except OSError as error:
            self._values.close()
            raise PortInUseError.of(error, host, port, "metrics") from error

    @property
    def url(self) -> str:
        """Where the metrics are."""
        host, port = self._server.server_address[:2]
        return f"http://{host!s}:{port}/metrics"

    def collect(self) -> Iterator[Any]:
        """Return all metrics as they are now, as `prometheus_client` asks for them."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        now = self._values.look()
        for metric in METRICS:
            family = (CounterMetricFamily if metric.kind is MetricKind.COUNTER else GaugeMetricFamily)(
                metric.name, metric.meaning, labels=metric.labels
            )
            for labels, value in metric.samples(now):
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
        self._values.close()
