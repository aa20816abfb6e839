"""Serves the page until somebody has seen enough."""

from __future__ import annotations

import asyncio
import secrets
import socket
import threading
from collections.abc import Callable, Mapping
from html import escape

from streamshed.closing import Closable
from streamshed.errors import MissingExtraError, PortInUseError
from streamshed.page.changes import Changes


class PageServer(Closable):
    """Serves the page of a checkpoint from a thread of its own until it is closed; use it as a context manager.

    Args:
        checkpoint: Path or URI of the checkpoint.
        host: Address to listen on. Beyond loopback nothing is shown without the token of the page's address.
        port: Port to listen on; 0: any that is free.
        changes: Changes the queries of the run that the checkpoint is of, for who has the token of the page's address;
            None: nothing can be changed.
        beside: What is answered beside the page to all who reach the address, by path: functions that return it with
            its media type.

    Attributes:
        url: Where the page is, with its token where it needs one.
        watched: What it shows.

    Raises:
        MissingExtraError: The extra `page` is not installed.
        PortInUseError: Another program listens there, or the address is not of this machine.
    """

    def __init__(
        self,
        checkpoint: str,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        changes: Changes | None = None,
        beside: Mapping[str, Callable[[], tuple[bytes, str]]] | None = None,
    ) -> None:
        try:
            from streamshed.page.app import LOOPBACK, PageOnUvicorn, page_app
            from streamshed.page.watched import WatchedCheckpoint
        except ImportError as error:
            raise MissingExtraError("the page needs packages more: pip install 'streamshed[page]'") from error
        self.watched = WatchedCheckpoint(checkpoint)
        token = None if host in LOOPBACK and changes is None else secrets.token_urlsafe(24)
        self._socket = _listening(host, port)
        self.url = _address(self._socket, token)
        app = page_app(self.watched, host=host, token=token, changes=changes, beside=beside)
        self._server = PageOnUvicorn(app, self.watched)
        self._thread = threading.Thread(target=self._serve, name="streamshed-page", daemon=True)
        self._thread.start()

    @property
    def is_empty(self) -> bool:
        """Whether no micro-batch has finished yet: what is no checkpoint stays so."""
        return self.watched.is_empty

    def __repr__(self) -> str:
        return f"<page of a run at {self.url}>"

    def _repr_html_(self) -> str:
        return f'<a href="{escape(self.url)}" target="_blank">page of the run</a>'

    def close(self) -> None:
        """Stop listening; nothing where that was done already."""
        self._server.should_exit = True
        self._thread.join()
        self._socket.close()

    def _serve(self) -> None:
        asyncio.run(self._serve_and_follow())

    async def _serve_and_follow(self) -> None:
        following = asyncio.create_task(self.watched.follow())
        try:
            await self._server.serve(sockets=[self._socket])
        finally:
            following.cancel()


def _address(listening: socket.socket, token: str | None) -> str:
    host, port = listening.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{port}/" + ("" if token is None else f"?token={token}")


def _listening(host: str, port: int) -> socket.socket:
    listening = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen()
    except OSError as error:
        listening.close()
        raise PortInUseError.of(error, host, port, "the page") from error
    return listening
