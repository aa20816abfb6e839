"""Where the files of a kill loop are."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from streamshed.spark.checkpoint.storage import Storage


@dataclass(frozen=True)
class Places:
    """Folders and files.

    Attributes:
        path: The folder of all.
    """

    path: Path

    @property
    def input(self) -> Path:
        """The streams' folders."""
        return self.path / "in"

    @property
    def answers(self) -> Path:
        """What the sink has written."""
        return self.path / "answers"

    @property
    def checkpoint(self) -> Path:
        """The run's."""
        return self.path / "checkpoint"

    def clock(self, name: str) -> Storage:
        """What the checkpoint has of a clock."""
        return Storage.at(str(self.checkpoint / name))

    @property
    def log(self) -> Path:
        """What children print."""
        return self.path / "children.log"

    @property
    def drawn(self) -> Path:
        """The numbers of all events."""
        return self.path / "drawn.parquet"

    @property
    def all_fed(self) -> Path:
        """The file that tells that nothing more is to come."""
        return self.path / "all_fed"

    def started(self, attempt: int) -> Path:
        """The file that tells that an attempt runs the network."""
        return self.path / f"started-{attempt:04}"
