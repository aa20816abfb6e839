"""What the page's address answers: the page itself, what it shows, what is new, and a bundle for those who help."""

from __future__ import annotations

import asyncio
import hmac
import io
import json
import platform
import threading
import zipfile
from collections.abc import AsyncIterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Receive, Scope, Send

from streamshed.page.journal_tail import JournalTail
from streamshed.page.moments import RecentMicroBatches

STATIC = Path(__file__).with_name("static")
LOOK_EVERY_SECONDS = 1.0
LOOPBACK = ("127.0.0.1", "localhost", "::1")

_COOKIE = "streamshed_token"
_HEADERS = {
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline';"
    " frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}


class WatchedCheckpoint:
    """A checkpoint, as all visitors of the page see it.

    Args:
        checkpoint: Its path or URI.
    """

    def __init__(self, checkpoint: str) -> None:
        self.checkpoint = checkpoint
        self._tail = JournalTail(checkpoint)
        self._moments = RecentMicroBatches()
        self._lock = threading.Lock()
        self._visitors: set[asyncio.Queue[str]] = set()
        self.look()

    @property
    def is_empty(self) -> bool:
        """Whether no micro-batch has finished yet."""
        return not self._tail.clocks

    def look(self) -> str | None:
        """Read what is new; returns it as JSON, None where nothing is."""
        with self._lock:
            figures = self._moments.add(self._tail.new_rows())
            return json.dumps({"new": figures, **self._moments.now()}) if figures else None

    def shown(self) -> dict[str, Any]:
        """Return all that the page shows at first."""
        with self._lock:
            network = self._tail.network()
            parsed = None if network is None else json.loads(network)
            return {**self._moments.shown(), "network": parsed, "checkpoint": self.checkpoint}

    def row(self, clock: str, micro_batch_id: int) -> Any:
        """Return all that the journal says of a micro-batch; None: it is not kept."""
        return self._tail.row(clock, micro_batch_id)

    async def follow(self) -> None:
        """Look again and again, and tell all visitors what is new; until cancelled."""
        while True:
            await asyncio.sleep(LOOK_EVERY_SECONDS)
            news = await asyncio.to_thread(self.look)
            if news is not None:
                for visitor in self._visitors:
                    if visitor.full():  # it sleeps: what it has not taken is in the next news, but for the figures
                        visitor.get_nowait()
                    visitor.put_nowait(news)

    async def news(self) -> AsyncIterator[str]:
        """Yield what is new for one visitor, as server-sent events."""
        visitor: asyncio.Queue[str] = asyncio.Queue(maxsize=60)
        self._visitors.add(visitor)
        try:
            yield ": hello\n\n"
            while True:
                try:
                    yield f"data: {await asyncio.wait_for(visitor.get(), timeout=15)}\n\n"
                except TimeoutError:
                    yield ": still here\n\n"
        finally:
            self._visitors.discard(visitor)

    def bundle(self) -> bytes:
        """Return a ZIP of what helps to understand the run: journal, network and versions; no rows, no answers."""
        content = io.BytesIO()
        with self._lock, zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as bundle:
            lines = [json.dumps(row) for row in JournalTail(self.checkpoint).new_rows()]
            bundle.writestr("journal.jsonl", "\n".join(lines))
            bundle.writestr("network.json", self._tail.network() or "")
            packages = {name: version(name) for name in ("streamshed", "pyspark", "pyarrow", "numpy")}
            bundle.writestr("versions.json", json.dumps({"python": platform.python_version(), **packages}, indent=1))
        return content.getvalue()


class _Guard:
    """Lets in who has the token, by the address or a cookie."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app, self._token = app, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        if self._fits(request.query_params.get("token")):
            response: Response = RedirectResponse(request.url.path, status_code=303)
            response.set_cookie(_COOKIE, self._token, httponly=True, samesite="strict")
            await response(scope, receive, send)
        elif self._fits(request.cookies.get(_COOKIE)):
            await self._app(scope, receive, send)
        else:
            refused = PlainTextResponse("the address needs its token: see what streamshed printed", status_code=403)
            await refused(scope, receive, send)

    def _fits(self, given: str | None) -> bool:
        return given is not None and hmac.compare_digest(given.encode(), self._token.encode())


def page_app(watched: WatchedCheckpoint, *, host: str, token: str | None) -> Starlette:
    """Make the application.

    Args:
        watched: What it shows.
        host: The address that it listens on: on loopback no other name of the machine is heeded.
        token: What visitors must have; None: nothing.
    """

    async def index(_: Request) -> Response:
        return Response((STATIC / "index.html").read_bytes(), media_type="text/html", headers=_HEADERS)

    async def shown(_: Request) -> Response:
        return JSONResponse(await asyncio.to_thread(watched.shown), headers=_HEADERS)

    async def events(_: Request) -> Response:
        return StreamingResponse(watched.news(), media_type="text/event-stream", headers=_HEADERS)

    async def decision(request: Request) -> Response:
        number = request.path_params["micro_batch_id"]
        row = await asyncio.to_thread(watched.row, request.path_params["clock"], number)
        return JSONResponse(row, status_code=404 if row is None else 200, headers=_HEADERS)

    async def bundle(_: Request) -> Response:
        name = {"Content-Disposition": 'attachment; filename="streamshed-bundle.zip"'}
        content = await asyncio.to_thread(watched.bundle)
        return Response(content, media_type="application/zip", headers=_HEADERS | name)

    middleware = [Middleware(TrustedHostMiddleware, allowed_hosts=[*LOOPBACK, "[::1]"])] if host in LOOPBACK else []
    if token is not None:
        middleware.append(Middleware(_Guard, token=token))
    return Starlette(
        routes=[
            Route("/", index),
            Route("/shown.json", shown),
            Route("/events", events),
            Route("/decisions/{clock}/{micro_batch_id:int}", decision),
            Route("/bundle.zip", bundle),
            Mount("/static", StaticFiles(directory=STATIC)),
        ],
        middleware=middleware,
    )
