"""What a run that was stopped in good order says of its last micro-batch, and the next one could not find out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from streamshed.errors import DamagedFileError
from streamshed.spark.checkpoint.checkpoint_reader import last_committed, read_alike
from streamshed.spark.checkpoint.storage import Storage

_FILE = "stopped.json"


@dataclass(frozen=True, kw_only=True)
class StopNote:
    """What is known at a stop.

    Attributes:
        last_written: The latest micro-batch of which answers may have gone to the sink. One that Spark had begun after
            it was called off, and nobody has seen anything of it.
        recorded: The latest micro-batch that Spark has reported, which the rest includes; -1: none.
        latest_event: Per stream, its latest event time, microseconds.
        shares_there: By stream of which rows were deleted before they were read, and no plan has told of it: which
            share of its rows was there.
    """

    last_written: int
    recorded: int = -1
    latest_event: Mapping[str, int] = field(default_factory=dict)
    shares_there: Mapping[str, float] = field(default_factory=dict)


def note_stop(folder: Storage, note: StopNote) -> None:
    """Write down that a run was stopped.

    Args:
        folder: The checkpoint of a clock.
        note: What is known.
    """
    folder.write_sealed(_FILE, json.dumps(asdict(note)))


def forget_stop(folder: Storage) -> None:
    """Forget it, as a run begins that may end otherwise."""
    if _FILE in folder.names():
        folder.delete(_FILE)


def stop_note(folder: Storage) -> StopNote | None:
    """Return what a run that was stopped has written down; None: it died, or runs.

    Args:
        folder: The checkpoint of a clock.
    """
    try:
        text = folder.read_sealed(_FILE)
    except DamagedFileError:
        return None
    return None if text is None else StopNote(**json.loads(text))


def full_stop_note(folder: Storage, checkpoint: Storage) -> StopNote | None:
    """Return the same, if it includes all rows that finished micro-batches have read.

    Args:
        folder: The checkpoint of a clock.
        checkpoint: Spark's, in it.
    """
    note, last = stop_note(folder), last_committed(checkpoint)
    return note if note is not None and last is not None and read_alike(checkpoint, note.recorded, last) else None
