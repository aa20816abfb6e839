"""A receiver of OpenTelemetry's metrics: OTLP over HTTP, on this machine."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)
from opentelemetry.proto.metrics.v1.metrics_pb2 import ScopeMetrics


@dataclass
class OtlpReceiver:
    """What has been pushed to it.

    Attributes:
        url: The endpoint, as `OTEL_EXPORTER_OTLP_ENDPOINT` takes it.
        pushes: What each request brought, by scope; oldest first.
    """

    url: str
    pushes: list[list[ScopeMetrics]] = field(default_factory=list)


@contextmanager
def otlp_receiver() -> Iterator[OtlpReceiver]:
    """Take in metrics meanwhile."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            if (self.path, self.headers["Content-Type"]) != ("/v1/metrics", "application/x-protobuf"):
                self.send_error(404)
                return
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers["Content-Encoding"] == "gzip":
                body = gzip.decompress(body)
            request = ExportMetricsServiceRequest.FromString(body)
            receiver.pushes.append([scope for of in request.resource_metrics for scope in of.scope_metrics])
            answer = ExportMetricsServiceResponse().SerializeToString()
            self.send_response(200)
            self.send_header("Content-Type", "application/x-protobuf")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *args: object) -> None:
            """Write nothing to standard error."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        receiver = OtlpReceiver(f"http://127.0.0.1:{server.server_port}")
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield receiver
        finally:
            server.shutdown()
            thread.join()
