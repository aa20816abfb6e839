"""Who may see the page, and who may change anything through it."""

from __future__ import annotations

import hmac
from collections.abc import Mapping

from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

CHANGE_HEADER = "X-Streamshed-Page"
"""Requests that change something have it: other sites cannot send it without being allowed to, and nobody is."""

_COOKIE = "streamshed_token"
_READING = frozenset({"GET", "HEAD"})


class TokenGuard:
    """Lets in who has the token, by the address or a cookie.

    Args:
        app: What is guarded.
        token: The token.
    """

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app, self._token = app, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        if request.method in _READING and self._fits(request.query_params.get("token")):
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


class SameOriginGuard:
    """Refuses to change anything for other sites, whatever cookies their visitors have.

    Args:
        app: What is guarded.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http" or scope["method"] in _READING or is_of_this_page(Request(scope).headers):
            await self._app(scope, receive, send)
            return
        refused = PlainTextResponse("changes are made from the page itself only", status_code=403)
        await refused(scope, receive, send)


def is_of_this_page(headers: Mapping[str, str]) -> bool:
    """Whether a request comes from the page itself: it has `CHANGE_HEADER` and, where a browser says it, its origin.

    Args:
        headers: Of the request, in any case.

    Example:
        >>> page = {"host": "127.0.0.1:8765", "X-Streamshed-Page": "1", "origin": "http://127.0.0.1:8765"}
        >>> is_of_this_page(page), is_of_this_page(page | {"origin": "http://elsewhere.example"})
        (True, False)
    """
    origin = headers.get("origin")
    is_same_origin = origin is None or origin.removeprefix("http://") == headers.get("host")
    return is_same_origin and headers.get(CHANGE_HEADER) is not None
