"""Who may see the page, and who may change anything through it."""

from __future__ import annotations

import hmac
from collections.abc import Mapping

from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

CHANGE_HEADER = "X-Streamshed-Page"
"""Requests that change something have it: other sites cannot send it without being allowed to, and nobody is."""

_READING = frozenset({"GET", "HEAD"})


class TokenGuard:
    """Lets in who has the token, by the address or a cookie.

    Args:
        app: What is guarded.
        token: The token.
        guards_reading: Whether it is needed to look, too; else only to change anything.
    """

    def __init__(self, app: ASGIApp, token: str, *, guards_reading: bool) -> None:
        self._app, self._token, self._guards_reading = app, token, guards_reading

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        is_reading, cookie = request.method in _READING, cookie_name(request.url.port)
        if is_reading and self._fits(request.query_params.get("token")):
            url = request.url.remove_query_params("token")
            response: Response = RedirectResponse(f"{url.path}{url.query and '?'}{url.query}", status_code=303)
            response.set_cookie(cookie, self._token, httponly=True, samesite="strict")
            await response(scope, receive, send)
        elif self._fits(request.cookies.get(cookie)) or (is_reading and not self._guards_reading):
            await self._app(scope, receive, send)
        else:
            refused = PlainTextResponse("the address needs its token: see what streamshed printed", status_code=403)
            await refused(scope, receive, send)

    def _fits(self, given: str | None) -> bool:
        return given is not None and hmac.compare_digest(given.encode(), self._token.encode())


def cookie_name(port: int | None) -> str:
    """Return the name of the cookie with the token of a port: browsers send all cookies of a host to each of its ports.

    Example:
        >>> cookie_name(8765)
        'streamshed_token_8765'
    """
    return f"streamshed_token_{port}"


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
