"""The plans of micro-batches, written down: what every retry, later reader and restart goes by."""

from __future__ import annotations

from streamshed.spark.plan_row import PlanRow
from streamshed.spark.storage import Storage

KEPT_PLANS = 200
"""Spark keeps 100 micro-batches to go back to."""


class WrittenPlans:
    """A folder with a file for each of the latest micro-batches.

    Args:
        folder: Theirs alone; what a crash left half written in it goes.
    """

    def __init__(self, folder: Storage) -> None:
        self._folder = folder
        folder.discard_drafts()

    def text(self, micro_batch_id: int) -> str | None:
        """Return the plan of a micro-batch as it was written; None: it is not there."""
        return self._folder.read_text(_file(micro_batch_id))

    def write(self, micro_batch_id: int, text: str) -> None:
        """Write a plan down, or another one in its place; it is durable on return."""
        self._folder.write_text(_file(micro_batch_id), text)

    def row(self, micro_batch_id: int) -> PlanRow | None:
        """Return the plan of a micro-batch; None: it is not there."""
        text = self.text(micro_batch_id)
        return None if text is None else PlanRow.from_json(text)

    def last(self) -> PlanRow | None:
        """Return the plan of the latest micro-batch that has one; None: none has."""
        names = [name for name in self._folder.names() if name.endswith(".json")]
        text = self._folder.read_text(names[-1]) if names else None
        return None if text is None else PlanRow.from_json(text)

    def forget(self, micro_batch_id: int) -> None:
        """Delete the plan of a micro-batch, if it is there."""
        if self.text(micro_batch_id) is not None:
            self._folder.delete(_file(micro_batch_id))


def _file(micro_batch_id: int) -> str:
    return f"{micro_batch_id:012d}.json"
