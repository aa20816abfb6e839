"""What a micro-batch that did not finish has written of state.

Rests on Spark's internals: tests/spark/contracts/test_state_files.py.
"""

from __future__ import annotations

import re
from pathlib import Path

from streamshed.spark.checkpoint.checkpoint_reader import last_committed
from streamshed.spark.checkpoint.storage import Storage

_VERSIONED = re.compile(r"\.?(?P<version>\d+)\.(changelog|zip|delta|snapshot)(\.crc)?")


def discard_unfinished_state(checkpoint: Storage) -> None:
    """Delete what micro-batches that did not finish have written of state: they run again, and write it anew.

    On a local disk Spark's quick file manager (`LOCAL_CHECKPOINT_SETTINGS`) would keep to a file that is there already,
    and say nothing. State would stay what the first run had made of it, which is another thing where rows are drawn.
    This concerns checkpoints of format 1, which this release continues but does not begin: in format 2, each attempt of
    a task writes files of its own, and the commit of a micro-batch says which of them count.

    Args:
        checkpoint: Spark's, of a query that does not run.
    """
    if not checkpoint.is_local:
        return
    last = last_committed(checkpoint)
    # A micro-batch reads the version of its own number, and writes the next one.
    written = 0 if last is None else last + 1
    for file in (Path(checkpoint.root) / "state").rglob("*"):
        match = _VERSIONED.fullmatch(file.name)
        if match is not None and int(match["version"]) > written:
            file.unlink()
