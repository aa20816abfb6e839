"""The driver's end of the plan table: a small HTTP server, on loopback unless asked otherwise, behind a token."""

from __future__ import annotations

import hmac
import itertools
import json
import logging
import secrets
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from streamshed.closing import Closable
from streamshed.errors import PortInUseError, StreamshedError
from streamshed.spark.plan.plan_client import TOKEN_HEADER, PlanClient

_log = logging.getLogger(__name__)


Plans = Callable[[int], str]
"""Returns the plan of a micro-batch as JSON text."""


class PlanServer(Closable):
    """Answers, for each micro-batch of each time domain, with its plan.

    Args:
        host: Address to listen on.
        port: Port to listen on; 0: any that is free.

    Raises:
        PortInUseError: Another program listens there, or the address is not of this machine.
    """

    def __init__(self, *, host: str = "127.0.0.1", port: int = 0) -> None:
        self.token = secrets.token_urlsafe(24)
        self._plans: dict[str, Plans] = {}
        self._numbers = itertools.count()
        try:
            self._server = ThreadingHTTPServer((host, port), _handler(self._plans, self.token))
        except OSError as error:
            raise PortInUseError.of(error, host, port, "the plan table") from error
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, name="streamshed-plans", daemon=True)
        self._thread.start()

    def client(self, domain: str) -> PlanClient:
        """Return what asks for the plans of a domain.

        Each has an address of its own: a task that remembers a plan does not take it for one of another network.

        Args:
            domain: Of the plans.
        """
        host, port = self._server.server_address[:2]
        return PlanClient(f"http://{host!s}:{port}/{domain}/{next(self._numbers)}", self.token)

    def serve(self, client: PlanClient, plans: Plans) -> None:
        """Answer a client from now on.

        Args:
            client: What asks.
            plans: Where they come from.
        """
        self._plans[_path_of(client.url)] = plans

    def forget(self, client: PlanClient) -> None:
        """Answer a client no longer.

        Args:
            client: What asked; it need not have been served.
        """
        self._plans.pop(_path_of(client.url), None)

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _path_of(url: str) -> str:
    return urlsplit(url).path


def _handler(plans: Mapping[str, Plans], token: str) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        wbufsize = -1  # headers and body leave together: the peer acknowledges small packets late

        def do_GET(self) -> None:
            if not hmac.compare_digest(self.headers.get(TOKEN_HEADER, "").encode(), token.encode()):
                self._answer(403, '{"error": "wrong token"}')
                return
            plan = plans.get(_path_of(self.path))
            micro_batch_text = parse_qs(urlsplit(self.path).query).get("micro_batch_id", [""])[0]
            if plan is None or not micro_batch_text.isdigit():
                self._answer(404, '{"error": "no such plan"}')
                return
            try:
                self._answer(200, plan(int(micro_batch_text)))
            except StreamshedError as error:
                _log.error("no plan for micro-batch %s: %s", micro_batch_text, error)
                self._answer(409, json.dumps({"error": str(error)}))
            except Exception:  # noqa: BLE001 - whatever it is, the micro-batch is told that it has no plan
                _log.exception("no plan for micro-batch %s", micro_batch_text)
                self._answer(500, '{"error": "planning failed, see the log of the driver"}')

        def _answer(self, status: int, text: str) -> None:
            body = text.encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
            _log.debug(format, *args)

    return Handler
