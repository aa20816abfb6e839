"""A checkpoint that a real run has left, for tests that read it or damage it."""

from __future__ import annotations

import zipfile
from pathlib import Path

CLOCK = "time"
FINISHED, BEGUN = 2, 3
"""Micro-batches 0, 1 and 2 have finished; another one was begun, and runs again."""


STOPPED_SECONDS = 60
"""Of so many seconds, one row each, the run that was stopped had read rows."""
STOPPED_AT = 1_000_000_060
"""A time after that of the file that it had read, seconds since the epoch."""


def unpacked_checkpoint(folder: Path) -> Path:
    """Unpack a checkpoint of version 8, of the last build before version 9, and return its folder.

    Two queries over a folder of JSON, one partition, PySpark 4.2.0.
    """
    return _unpacked("checkpoint_8.zip", folder)


def stopped_checkpoint(folder: Path, version: int = 10) -> Path:
    """Unpack a checkpoint whose run was stopped by `run.stop()`, and return its folder.

    A query of sliding windows by group and one over its answers, with open windows, two partitions, PySpark 4.2.0.

    Args:
        folder: Where to.
        version: Of the manifest: 9, whose state is in Spark's format 1, or 10, in format 2 with checksums of rows.
    """
    return _unpacked(f"checkpoint_{version}.zip", folder)


def _unpacked(name: str, folder: Path) -> Path:
    checkpoint = folder / "checkpoint"
    with zipfile.ZipFile(Path(__file__).with_name(name)) as archive:
        archive.extractall(checkpoint)
    return checkpoint
