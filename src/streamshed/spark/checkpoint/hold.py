"""Who works on a folder: of a checkpoint, runs or one that rewrites it."""

from __future__ import annotations

import errno
import fcntl
import os

from streamshed.closing import Closable
from streamshed.errors import IncompatibleCheckpointError, StreamshedError
from streamshed.spark.checkpoint.storage import Storage

_HELD_BY_OTHERS = frozenset({errno.EWOULDBLOCK, errno.EACCES})


class FolderHold(Closable):
    """A folder that something works on; the end of the process lets go of it, however it ends.

    The operating system knows who holds a folder on a local disk. Elsewhere nobody does, and nobody is refused.

    Args:
        folder: Which.
        refusal: What is raised where others hold it.
        alone: Whether nothing else may hold it at the same time.

    Raises:
        StreamshedError: The refusal.
    """

    def __init__(self, folder: Storage, refusal: StreamshedError, *, alone: bool = True) -> None:
        self._descriptor: int | None = None
        if not folder.is_local:
            return
        self._descriptor = os.open(folder.root, os.O_RDONLY)
        try:
            fcntl.flock(self._descriptor, (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)
        except OSError as error:
            self.close()
            if error.errno in _HELD_BY_OTHERS:
                raise refusal from error
            # A file system that knows no locks.

    def close(self) -> None:
        """Let go of it."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


class CheckpointHold(FolderHold):
    """A checkpoint that runs work on beside each other, or one that rewrites it.

    Args:
        checkpoint: The folder of all clocks.
        alone: Whether it is rewritten, so that nothing else may work on it.

    Raises:
        IncompatibleCheckpointError: A run works on it, or something rewrites it.
    """

    def __init__(self, checkpoint: Storage, *, alone: bool = False) -> None:
        holder = "a run uses it: stop it first" if alone else "it is being repartitioned, wait for that"
        refusal = IncompatibleCheckpointError(f'the checkpoint "{checkpoint.root}": {holder}')
        super().__init__(checkpoint, refusal, alone=alone)
