"""What a run that was stopped in good order says of its last micro-batch: how far answers have gone to the sink."""

from __future__ import annotations

import json

from streamshed.errors import DamagedFileError
from streamshed.spark.checkpoint.storage import Storage

_FILE = "stopped.json"


def note_stop(folder: Storage, last_written: int) -> None:
    """Write down that a run was stopped.

    Args:
        folder: The checkpoint of a clock.
        last_written: The latest micro-batch of which answers may have gone to the sink. One that Spark had begun after
            it was called off, and nobody has seen anything of it.
    """
    folder.write_sealed(_FILE, json.dumps({"last_written": last_written}))


def forget_stop(folder: Storage) -> None:
    """Forget it, as a run begins that may end otherwise."""
    if _FILE in folder.names():
        folder.delete(_FILE)


def written_when_stopped(folder: Storage) -> int | None:
    """Return the latest micro-batch of which answers may have gone to the sink; None: the run died.

    Args:
        folder: The checkpoint of a clock.
    """
    try:
        text = folder.read_sealed(_FILE)
    except DamagedFileError:
        return None
    return None if text is None else int(json.loads(text)["last_written"])
