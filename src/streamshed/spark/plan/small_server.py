"""A server of HTTP for small questions that no client can wear out: connections, bytes, time, threads are bounded."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus

from streamshed.closing import Closable

MOST_CONNECTIONS = 128
"""More wait in the system's queue until one of these is done."""

LARGEST_REQUEST_BYTES = 8192
PATIENCE_SECONDS = 5.0
"""How long a request may take to come, and an answer to go."""

_SPARED_SECONDS = 0.05
"""Whose request has not come for so long makes room for others: a task's comes with its connection."""
_LOOK_EVERY_SECONDS = 0.01
_QUEUE = 1024
_THREADS = 32
_END = b"\r\n\r\n"


@dataclass(frozen=True)
class Question:
    """What a client asks.

    Attributes:
        target: Path and query.
        headers: By name in lower case.
    """

    target: str
    headers: Mapping[str, str]

    @classmethod
    def of(cls, head: bytes) -> Question | None:
        """Read the lines before the body; None: they are no GET of HTTP/1."""
        first, *lines = head.decode("latin-1").split("\r\n")
        words = first.split(" ")
        if len(words) != 3 or words[0] != "GET" or not words[2].startswith("HTTP/1."):
            return None
        pairs = (line.partition(":") for line in lines)
        return cls(words[1], {name.strip().lower(): value.strip() for name, _, value in pairs})


class SmallServer(Closable):
    """Answers questions from a thread of its own, and several others that it answers at a time.

    A connection is for one question. It costs no thread before its question is welcome.

    Args:
        host: Address to listen on.
        port: Port to listen on; 0: any that is free.
        is_welcome: Whether a question is answered; it returns at once.
        answer: Returns the status and the JSON of an answer; it may take long.
        name: Of the threads.
        patience_seconds: How long a request may take to come, and an answer to go.

    Attributes:
        address: Host and port.

    Raises:
        OSError: It cannot listen there.
    """

    def __init__(
        self,
        host: str,
        port: int,
        *,
        is_welcome: Callable[[Question], bool],
        answer: Callable[[Question], tuple[HTTPStatus, str]],
        name: str,
        patience_seconds: float = PATIENCE_SECONDS,
    ) -> None:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._socket = socket.create_server((host, port), family=family, backlog=_QUEUE)
        self._socket.setblocking(False)
        self.address: tuple[str, int] = self._socket.getsockname()[:2]
        self._is_welcome, self._answer, self._patience_seconds = is_welcome, answer, patience_seconds
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix=name)
        self._open: set[asyncio.Task[None]] = set()
        self._asking: dict[asyncio.Task[None], float] = {}
        """Whose question has not come, and since when, the longest first."""
        self._loop = asyncio.new_event_loop()
        self._accepting = self._loop.create_task(self._accept())
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop listening, and let all connections go; nothing where that was done already."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._accepting.cancel)
            self._thread.join()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _run(self) -> None:
        try:
            self._loop.run_until_complete(self._until_closed())
        finally:
            self._loop.close()

    async def _until_closed(self) -> None:
        await asyncio.wait([self._accepting])
        self._socket.close()
        left = list(self._open)
        for connection in left:
            connection.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    async def _accept(self) -> None:
        while True:
            await self._room()
            try:
                connection, _ = await self._loop.sock_accept(self._socket)
            except OSError:  # the client has gone, or the process has no descriptor left
                await asyncio.sleep(_LOOK_EVERY_SECONDS)
                continue
            task = self._loop.create_task(self._serve(connection))
            self._open.add(task)
            task.add_done_callback(partial(self._end, connection))

    async def _room(self) -> None:
        """Wait until there is room for one more, and make some where somebody keeps it without asking."""
        while len(self._open) >= MOST_CONNECTIONS:
            longest = next(iter(self._asking), None)
            if longest is not None and self._loop.time() - self._asking[longest] > _SPARED_SECONDS:
                longest.cancel()
                self._forget(longest)
            else:
                await asyncio.sleep(_LOOK_EVERY_SECONDS)

    def _end(self, connection: socket.socket, task: asyncio.Task[None]) -> None:
        """Close a connection, also one that was called off before anybody looked at it."""
        connection.close()
        self._forget(task)

    def _forget(self, task: asyncio.Task[None]) -> None:
        self._open.discard(task)
        self._asking.pop(task, None)

    async def _serve(self, connection: socket.socket) -> None:
        task = asyncio.current_task()
        if task is None:
            return
        with suppress(OSError):  # among it that time is over
            connection.setblocking(False)
            self._asking[task] = self._loop.time()
            async with asyncio.timeout(self._patience_seconds):
                question = await self._question(connection)
            self._asking.pop(task, None)
            status, text = await self._answered(question)
            async with asyncio.timeout(self._patience_seconds):
                await self._loop.sock_sendall(connection, _response(status, text))

    async def _question(self, connection: socket.socket) -> Question | None:
        head = b""
        while _END not in head:
            if len(head) > LARGEST_REQUEST_BYTES or not (more := await self._loop.sock_recv(connection, 4096)):
                return None
            head += more
        return Question.of(head.partition(_END)[0])

    async def _answered(self, question: Question | None) -> tuple[HTTPStatus, str]:
        if question is None:
            return HTTPStatus.BAD_REQUEST, '{"error": "no question"}'
        if not self._is_welcome(question):
            return HTTPStatus.FORBIDDEN, '{"error": "wrong token"}'
        return await self._loop.run_in_executor(self._pool, self._answer, question)


def _response(status: HTTPStatus, text: str) -> bytes:
    """Return head and body together: the peer acknowledges small packets late."""
    body = text.encode()
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body
