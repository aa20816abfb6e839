"""What the page's address answers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from socket import socket
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from streamshed.errors import InvalidNetworkError, StreamshedError
from streamshed.network.run.policy_names import POLICY_NAMES
from streamshed.page.access import SameOriginGuard, TokenGuard
from streamshed.page.bundle import support_bundle
from streamshed.page.changes import Changes
from streamshed.page.watched import WatchedCheckpoint

STATIC = Path(__file__).with_name("static")
LOOPBACK = ("127.0.0.1", "localhost", "::1")

_HEADERS = {
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline';"
    " frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}
_LONGEST_CHANGE_BYTES = 1_000_000


Beside = Callable[[], tuple[bytes, str]]
"""Returns what a path answers, and its media type."""


def page_app(
    watched: WatchedCheckpoint,
    *,
    host: str,
    token: str | None,
    changes: Changes | None = None,
    beside: Mapping[str, Beside] | None = None,
) -> Starlette:
    """Make the application.

    Args:
        watched: What it shows.
        host: The address that it listens on: on loopback no other name of the machine is heeded.
        token: What visitors must have to change anything, and beyond loopback to see anything; None: nothing.
        changes: Changes the queries of the run; None: nothing can be changed.
        beside: What is answered beside the page to all who reach the address, by path.
    """
    hosts = [Middleware(TrustedHostMiddleware, allowed_hosts=[*LOOPBACK, "[::1]"])] if host in LOOPBACK else []
    guards = [Middleware(SameOriginGuard)]
    if token is not None:
        guards.insert(0, Middleware(TokenGuard, token=token, guards_reading=host not in LOOPBACK))
    routes = [
        Route("/", _index),
        *_views(watched, is_changeable=changes is not None),
        *([] if changes is None else _change_routes(watched, changes)),
        Mount("/static", StaticFiles(directory=STATIC)),
    ]
    others = [_beside(path, answer) for path, answer in (beside or {}).items()]
    # What is beside the page is not behind its guards.
    return Starlette(routes=[*others, Mount("/", Starlette(routes=routes, middleware=guards))], middleware=hosts)


def _beside(path: str, answer: Beside) -> Route:
    async def respond(_: Request) -> Response:
        content, media_type = await asyncio.to_thread(answer)
        return Response(content, headers={"Content-Type": media_type, "X-Content-Type-Options": "nosniff"})

    return Route(path, respond)


class PageOnUvicorn(uvicorn.Server):
    """Serves the page; lets its visitors go before it shuts down, for by themselves they do not leave.

    Args:
        app: What `page_app` made.
        watched: What it shows.
    """

    def __init__(self, app: Starlette, watched: WatchedCheckpoint) -> None:
        super().__init__(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1))
        self._watched = watched

    async def shutdown(self, sockets: list[socket] | None = None) -> None:
        """Stop listening, and end what is under way."""
        self._watched.dismiss()
        await super().shutdown(sockets)


async def _index(_: Request) -> Response:
    return Response((STATIC / "index.html").read_bytes(), media_type="text/html", headers=_HEADERS)


def _views(watched: WatchedCheckpoint, *, is_changeable: bool) -> list[Route]:
    """What is to be seen."""

    async def shown(_: Request) -> Response:
        about = {"policies": POLICY_NAMES, "is_changeable": is_changeable}
        return await _answered(lambda: {**watched.shown(), **about})

    async def events(_: Request) -> Response:
        return StreamingResponse(watched.news(), media_type="text/event-stream", headers=_HEADERS)

    async def nodes(_: Request) -> Response:
        return await _answered(watched.nodes)

    async def bundle(_: Request) -> Response:
        name = {"Content-Disposition": 'attachment; filename="streamshed-bundle.zip"'}
        content = await asyncio.to_thread(support_bundle, watched.checkpoint)
        return Response(content, media_type="application/zip", headers=_HEADERS | name)

    return [
        Route("/shown.json", shown),
        Route("/events", events),
        Route("/nodes.json", nodes),
        Route("/bundle.zip", bundle),
        *_question_routes(watched),
    ]


def _question_routes(watched: WatchedCheckpoint) -> list[Route]:
    """What is asked of one decision, one query, one node, or of a load that there is not."""

    async def decision(request: Request) -> Response:
        clock, number = request.path_params["clock"], request.path_params["micro_batch_id"]
        row = await asyncio.to_thread(watched.row, clock, number)
        return JSONResponse(row, status_code=404 if row is None else 200, headers=_HEADERS)

    async def answers(request: Request) -> Response:
        return await _answered(lambda: watched.answers(request.path_params["query"]))

    async def what_if(request: Request) -> Response:
        load, policy = request.query_params.get("load", ""), request.query_params.get("policy") or None
        return await _answered(lambda: watched.what_if(_load_factor(load), policy))

    async def past(request: Request) -> Response:
        clock, address = request.path_params["clock"], request.query_params.get("node", "")
        is_query = request.query_params.get("kind") == "query"
        return await _answered(lambda: watched.past(clock, address, is_query=is_query))

    return [
        Route("/decisions/{clock}/{micro_batch_id:int}", decision),
        Route("/answers/{query:path}", answers),
        Route("/what-if.json", what_if),
        Route("/past/{clock}", past),
    ]


def _change_routes(watched: WatchedCheckpoint, changes: Changes) -> list[Route]:
    """What may be changed: POST with a change as JSON, first to be explained, then to be made."""

    async def explain(request: Request) -> Response:
        body = await request.body()

        def explained() -> dict[str, Any]:
            known_run = watched.known_run()
            return changes.explain(_change(body), known_run, watched.rows_per_second(known_run))

        return await _answered(explained)

    async def make(request: Request) -> Response:
        body = await request.body()
        return await _answered(lambda: changes.make(_change(body)))

    return [Route("/changes/explain", explain, methods=["POST"]), Route("/changes", make, methods=["POST"])]


async def _answered(answer: Callable[[], Any]) -> Response:
    """Work an answer out beside other requests; what cannot be is told as a sentence."""
    try:
        return JSONResponse(await asyncio.to_thread(answer), headers=_HEADERS)
    except StreamshedError as error:
        return JSONResponse({"problem": str(error)}, status_code=422, headers=_HEADERS)


def _load_factor(text: str) -> float:
    try:
        load_factor = float(text)
    except ValueError:
        load_factor = 0.0
    if not 0 < load_factor <= 1e6:
        raise InvalidNetworkError(f"what if: load is a number above 0 and at most a million, got {text!r}")
    return load_factor


def _change(body: bytes) -> dict[str, Any]:
    if len(body) > _LONGEST_CHANGE_BYTES:
        raise InvalidNetworkError(f"a change is at most {_LONGEST_CHANGE_BYTES} bytes, got {len(body)}")
    try:
        change = json.loads(body)
    except ValueError as error:
        raise InvalidNetworkError(f"a change is an object of JSON: {error}") from error
    if not isinstance(change, dict):
        raise InvalidNetworkError(f"a change is an object of JSON, got {change!r}")
    return change
