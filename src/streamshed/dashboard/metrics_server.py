"""Tells Prometheus the metrics of a run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from streamshed.closing import Closable
from streamshed.dashboard.following import Reporting
from streamshed.dashboard.metrics import METRICS, MetricKind, MetricValues
from streamshed.errors import MissingExtraError, PortInUseError


class PrometheusMetrics(Closable):
    """The metrics of a run as Prometheus reads them, until it is closed; use it as a context manager.

    Args:
        run: The run.

    Attributes:
        registry: What `prometheus_client` serves.

    Raises:
        MissingExtraError: The extra `metrics` is not installed.
    """

    def __init__(self, run: Reporting) -> None:
        try:
            from prometheus_client import CollectorRegistry
        except ImportError as error:
            raise MissingExtraError("metrics need a package more: pip install 'streamshed[metrics]'") from error
        self._values = MetricValues(run, thread="streamshed-metrics")
        self.registry = CollectorRegistry()
        self.registry.register(self)

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

    def text(self) -> tuple[bytes, str]:
        """Return them in Prometheus's format of text, and its media type."""
        from prometheus_client.exposition import choose_encoder

        encode, media_type = choose_encoder("")
        return encode(self.registry), media_type

    def close(self) -> None:
        """Follow the run no longer."""
        self._values.close()


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
        self._metrics, self._is_closed = PrometheusMetrics(run), False
        from prometheus_client import start_http_server

        try:
            self._server, self._thread = start_http_server(port, addr=host, registry=self._metrics.registry)
        except OSError as error:
            self._metrics.close()
            raise PortInUseError.of(error, host, port, "metrics") from error

    @property
    def url(self) -> str:
        """Where the metrics are."""
        host, port = self._server.server_address[:2]
        return f"http://{host!s}:{port}/metrics"

    def close(self) -> None:
        """Stop listening."""
        if self._is_closed:
            return
        self._is_closed = True
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
        self._metrics.close()
