"""Tells Prometheus the metrics of a run."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, Self

from streamshed.dashboard.metrics import METRICS, MetricKind
from streamshed.dashboard.run_history import RunHistory
from streamshed.errors import MissingExtraError, PortInUseError

if TYPE_CHECKING:
    from types import TracebackType

    from streamshed.spark.loop.run_status import RunStatus

_LOOK_EVERY_SECONDS = 1.0
"""The states after the latest hundred micro-batches are kept: none is missed, whenever Prometheus asks."""


class Reporting(Protocol):
    """A run, as far as its metrics need it."""

    @property
    def is_active(self) -> bool:
        """Whether it runs."""

    def statuses_since(self, micro_batch_ids: Mapping[str, int]) -> Sequence[RunStatus]:
        """The states after the micro-batches that finished later than those, by clock."""


class MetricsServer:
    """Serves the metrics of a run at `/metrics` until it is closed; use it as a context manager.

    Args:
        run: The run.
        host: Address to listen on.
        port: Port to listen on; 0: any that is free.

    Raises:
        MissingExtraError: The extra `metrics` is not installed.
        PortInUseError: Another program listens there.
    """

    def __init__(self, run: Reporting, *, host: str = "127.0.0.1", port: int = 9464) -> None:
        try:
            from prometheus_client import CollectorRegistry, start_http_server
        except ImportError as error:
            raise MissingExtraError("metrics need a package more: pip install 'streamshed[metrics]'") from error
        self._run = run
        self._history = RunHistory()
        self._lock, self._closed = threading.Lock(), threading.Event()
        registry = CollectorRegistry()
        registry.register(self)
        try:
            self._server, self._thread = start_http_server(port, addr=host, registry=registry)
        except OSError as error:
            raise PortInUseError(
                f"cannot listen on {host}:{port} for metrics: {error.strerror or error}; choose another port, or 0 for"
                " any that is free"
            ) from error
        self._looking = threading.Thread(target=self._look_on, name="streamshed-metrics", daemon=True)
        self._looking.start()

    @property
    def url(self) -> str:
        """Where the metrics are."""
        host, port = self._server.server_address[:2]
        return f"http://{host!s}:{port}/metrics"

    def collect(self) -> Iterator[Any]:
        """Return all metrics as they are now, as `prometheus_client` asks for them."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        history = self._look()
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
        if self._closed.is_set():
            return
        self._closed.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
        self._looking.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _look_on(self) -> None:
        while not self._closed.wait(_LOOK_EVERY_SECONDS):
            self._look()

    def _look(self) -> RunHistory:
        with self._lock:
            for status in self._run.statuses_since(self._history.micro_batch_ids):
                self._history = self._history.after(status)
            return self._history
