"""Requests to a run, as files below its checkpoint: who may write there may change its queries."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from typing import Any

from streamshed.cli.terminal.failure import RunFailedError, failure_text
from streamshed.errors import InvalidNetworkError, SourceUnavailableError, StreamshedError
from streamshed.spark.checkpoint.storage import Storage

_RUNNING, _REQUESTS, _REPLIES = "running.yaml", "requests", "replies"
_QUESTION = "explain-"
_LOOK_EVERY_SECONDS, _LOOK_AFAR_EVERY_SECONDS = 0.2, 2.0


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What became of a request.

    Attributes:
        problem: Why it was refused; None: it was done.
        pause_seconds: How long no micro-batch could begin.
        first_windows: By query that came, when its first whole window begins, as text; None: all its windows are whole.
        explanation: What it would cost, where nothing else was asked.
        is_outdated: Whether another document ran by then than the one that was edited.
    """

    problem: str | None = None
    pause_seconds: float = 0.0
    first_windows: Mapping[str, str | None] = field(default_factory=dict)
    explanation: str | None = None
    is_outdated: bool = False


@dataclass(frozen=True)
class _Request:
    """A document that a run is to go on with.

    Attributes:
        edited: The digest of the document that was edited.
        document: What came of it.
    """

    edited: str
    document: str


class RequestBox:
    """Where documents are left that a run is to go on with, and what became of them.

    Of requests that come at the same time none undoes another: each is made of what runs when its turn has come.

    Args:
        checkpoint: The checkpoint of the run.
    """

    def __init__(self, checkpoint: str) -> None:
        self._checkpoint = checkpoint
        self._folder = Storage.reached(checkpoint).below("ctl")
        self._looked_at = float("-inf")

    def begin(self, document: str) -> None:
        """Say what runs, and forget what was asked of an earlier run."""
        for name in self._folder.below(_REQUESTS).names():
            self._folder.below(_REQUESTS).delete(name)
        self._folder.write_text(_RUNNING, document)

    def end(self) -> None:
        """Say that nothing runs any more."""
        self._folder.delete(_RUNNING)

    def serve(self, hand_over: Callable[[str], Reply], explain: Callable[[str], Reply]) -> None:
        """Do what was asked meanwhile; looks at most every 0.2 s, elsewhere than on disk every 2 s.

        Args:
            hand_over: Goes on with a document.
            explain: Tells what that would cost.
        """
        every = _LOOK_EVERY_SECONDS if self._folder.is_local else _LOOK_AFAR_EVERY_SECONDS
        if time.monotonic() < self._looked_at + every:
            return
        requests, replies = self._folder.below(_REQUESTS), self._folder.below(_REPLIES)
        for name in requests.names():
            text = requests.read_text(name)
            if text is None:  # withdrawn
                continue
            is_question = name.startswith(_QUESTION)
            try:
                request = _Request(**json.loads(text))
                if request.edited != _digest(self.running()):
                    reply = Reply(is_outdated=True)
                elif is_question:
                    reply = explain(request.document)
                else:
                    reply = hand_over(request.document)
                    self._folder.write_text(_RUNNING, request.document)
            except StreamshedError as error:
                reply = Reply(problem=str(error))
            except Exception as error:  # noqa: BLE001 - whatever it is, who asked is told, and the run goes on or says why
                reply = Reply(problem=failure_text(error))
            replies.write_text(name, json.dumps(asdict(reply)))
            requests.delete(name)
        self._looked_at = time.monotonic()

    def running(self) -> str:
        """Return the document that runs.

        Raises:
            SourceUnavailableError: None does.
        """
        text = self._folder.read_text(_RUNNING)
        if text is None:
            raise SourceUnavailableError(
                f'no document runs with the checkpoint "{self._checkpoint}": is that the `checkpoint` of a'
                " `streamshed run` that has not ended?"
            )
        return text

    def ask(self, edit: Callable[[str], str], *, timeout_seconds: float = 60.0, explain: bool = False) -> Reply:
        """Ask a run to go on with another document, and wait until it does.

        Args:
            edit: Makes it of the document that runs; again where that has changed before the run has come to it.
            timeout_seconds: How long to wait.
            explain: Ask only what that would cost.

        Raises:
            InvalidNetworkError: The run refused it; the message says why.
            RunFailedError: Nobody answered in time; the request is withdrawn.
        """
        deadline = time.monotonic() + timeout_seconds
        while True:
            running = self.running()
            reply = self._answered(_Request(_digest(running), edit(running)), deadline, explain=explain)
            if reply is None:
                raise RunFailedError(
                    f"the run did not answer within {timeout_seconds:g} s: has it died, or is a micro-batch that long?"
                    " The request is withdrawn"
                )
            if reply.problem is not None:
                raise InvalidNetworkError(reply.problem)
            if not reply.is_outdated:
                return reply

    def _answered(self, request: _Request, deadline: float, *, explain: bool) -> Reply | None:
        """Leave a request, and wait for the reply; None: there is none in time, and the request is withdrawn."""
        name = f"{_QUESTION if explain else ''}{uuid.uuid4().hex}"
        requests, replies = self._folder.below(_REQUESTS), self._folder.below(_REPLIES)
        requests.write_text(name, json.dumps(asdict(request)))
        while (text := replies.read_text(name)) is None:
            if time.monotonic() > deadline:
                requests.delete(name)
                return None
            time.sleep(_LOOK_EVERY_SECONDS)
        replies.delete(name)
        fields: dict[str, Any] = json.loads(text)
        return Reply(**fields)


def _digest(document: str) -> str:
    return blake2b(document.encode(), digest_size=16).hexdigest()
