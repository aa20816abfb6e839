"""The driver's end of the plan table: a small HTTP server, on loopback unless asked otherwise, behind a token."""

from __future__ import annotations

import hmac
import itertools
import json
import logging
import secrets
from collections.abc import Callable
from http import HTTPStatus
from urllib.parse import parse_qs, urlsplit

from streamshed.closing import Closable
from streamshed.errors import PortInUseError, StreamshedError
from streamshed.spark.plan.plan_client import TOKEN_HEADER, PlanClient
from streamshed.spark.plan.small_server import PATIENCE_SECONDS, Question, SmallServer

_log = logging.getLogger(__name__)


Plans = Callable[[int], str]
"""Returns the plan of a micro-batch as JSON text."""


class PlanServer(Closable):
    """Answers, for each micro-batch of each time domain, with its plan.

    Args:
        host: Address to listen on.
        port: Port to listen on; 0: any that is free.
        patience_seconds: How long a request may take to come, and an answer to go.

    Raises:
        PortInUseError: Another program listens there, or the address is not of this machine.
    """

    def __init__(self, *, host: str = "127.0.0.1", port: int = 0, patience_seconds: float = PATIENCE_SECONDS) -> None:
        self.token = secrets.token_urlsafe(24)
        self._plans: dict[str, Plans] = {}
        self._numbers = itertools.count()
        try:
            self._server = SmallServer(
                host,
                port,
                is_welcome=self._has_token,
                answer=self._answer,
                name="streamshed-plans",
                patience_seconds=patience_seconds,
            )
        except OSError as error:
            raise PortInUseError.of(error, host, port, "the plan table") from error

    def client(self, domain: str) -> PlanClient:
        """Return what asks for the plans of a domain.

        Each has an address of its own: a task that remembers a plan does not take it for one of another network.

        Args:
            domain: Of the plans.
        """
        host, port = self._server.address
        shown = f"[{host}]" if ":" in host else host
        return PlanClient(f"http://{shown}:{port}/{domain}/{next(self._numbers)}", self.token)

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
        self._server.close()

    def _has_token(self, question: Question) -> bool:
        given = question.headers.get(TOKEN_HEADER.lower(), "")
        return hmac.compare_digest(given.encode(), self.token.encode())

    def _answer(self, question: Question) -> tuple[HTTPStatus, str]:
        plan = self._plans.get(_path_of(question.target))
        micro_batch_text = parse_qs(urlsplit(question.target).query).get("micro_batch_id", [""])[0]
        if plan is None or not micro_batch_text.isdigit():
            return HTTPStatus.NOT_FOUND, '{"error": "no such plan"}'
        try:
            return HTTPStatus.OK, plan(int(micro_batch_text))
        except StreamshedError as error:
            _log.error("no plan for micro-batch %s: %s", micro_batch_text, error)
            return HTTPStatus.CONFLICT, json.dumps({"error": str(error)})
        except Exception:  # noqa: BLE001 - whatever it is, the micro-batch is told that it has no plan
            _log.exception("no plan for micro-batch %s", micro_batch_text)
            return HTTPStatus.INTERNAL_SERVER_ERROR, '{"error": "planning failed, see the log of the driver"}'


def _path_of(url: str) -> str:
    return urlsplit(url).path
