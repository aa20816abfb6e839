"""A checkpoint that a real run has left, for tests that read it or damage it."""

from __future__ import annotations

import zipfile
from pathlib import Path

CLOCK = "time"
FINISHED, BEGUN = 2, 3
"""Micro-batches 0, 1 and 2 have finished; another one was begun, and runs again."""


def unpacked_checkpoint(folder: Path) -> Path:
    """Unpack a checkpoint of version 8, of the last build before version 9, and return its folder.

    Two queries over a folder of JSON, one partition, PySpark 4.2.0.
    """
    checkpoint = folder / "checkpoint"
    with zipfile.ZipFile(Path(__file__).with_name("checkpoint_8.zip")) as archive:
        archive.extractall(checkpoint)
    return checkpoint
