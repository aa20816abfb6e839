"""The plans of micro-batches, written down: what every retry, later reader and restart goes by."""

from __future__ import annotations

import re

from streamshed.errors import DamagedFileError, IncompatibleCheckpointError
from streamshed.spark.checkpoint.storage import Storage
from streamshed.spark.plan.plan_row import PlanRow

_NAME = re.compile(r"\d{12}\.json")
_WAY_OUT = (
    "what was shed of windows that are still open is not known without it: put it back, or start with a new checkpoint"
    " folder"
)

KEPT_PLANS = 200
"""Spark keeps 100 micro-batches to go back to."""


class WrittenPlans:
    """A folder with a file for each of the latest micro-batches.

    Args:
        folder: Theirs alone.
    """

    def __init__(self, folder: Storage) -> None:
        self._folder = folder

    def discard_drafts(self) -> None:
        """Delete what a crash left half written; for whoever writes, as others may look meanwhile."""
        self._folder.discard_drafts()

    def text(self, micro_batch_id: int) -> str | None:
        """Return the plan of a micro-batch as it was written; None: it is not there."""
        return self._read(_file(micro_batch_id))

    def write(self, micro_batch_id: int, text: str) -> None:
        """Write a plan down, or another one in its place; it is durable on return."""
        self._folder.write_sealed(_file(micro_batch_id), text)

    def row(self, micro_batch_id: int) -> PlanRow | None:
        """Return the plan of a micro-batch; None: it is not there."""
        text = self.text(micro_batch_id)
        return None if text is None else PlanRow.from_json(text)

    def latest(self, count: int) -> list[PlanRow]:
        """Return the plans of the latest micro-batches that have any, at most so many, oldest first."""
        names = [name for name in self._folder.names() if _NAME.fullmatch(name)]
        return [PlanRow.from_json(text) for name in names[-count:] if (text := self._read(name)) is not None]

    def last(self) -> PlanRow | None:
        """Return the plan of the latest micro-batch that has one; None: none has."""
        return next(iter(self.latest(1)), None)

    def refuse_lost(self, last_done: int | None) -> None:
        """See that the plan of the micro-batch that finished last is there: what is still open was shed by it.

        Args:
            last_done: Which that is; None: none has finished.

        Raises:
            IncompatibleCheckpointError: It is gone, or damaged.
        """
        if last_done is not None and self.text(last_done) is None:
            raise IncompatibleCheckpointError(f'"{self._folder.root}/{_file(last_done)}" is gone: {_WAY_OUT}')

    def _read(self, name: str) -> str | None:
        try:
            return self._folder.read_sealed(name)
        except DamagedFileError as error:
            raise IncompatibleCheckpointError(f"{error}: {_WAY_OUT}") from error

    def forget(self, micro_batch_id: int) -> None:
        """Delete the plan of a micro-batch, if it is there."""
        if _file(micro_batch_id) in self._folder.names():
            self._folder.delete(_file(micro_batch_id))


def _file(micro_batch_id: int) -> str:
    return f"{micro_batch_id:012d}.json"
