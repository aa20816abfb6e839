"""Who works on a checkpoint: runs, or one that rewrites it."""

from __future__ import annotations

import errno
import fcntl
import os

from streamshed.closing import Closable
from streamshed.errors import IncompatibleCheckpointError
from streamshed.spark.checkpoint.storage import Storage

_HELD_BY_OTHERS = frozenset({errno.EWOULDBLOCK, errno.EACCES})


class CheckpointHold(Closable):
    """A checkpoint that something works on; the end of the process lets go of it, however it ends.

    The operating system knows who holds a folder on a local disk. Elsewhere nobody does, and nobody is refused.

    Args:
        checkpoint: The folder of all clocks.
        alone: Whether it is rewritten, so that nothing else may work on it; runs hold it beside each other.

    Raises:
        IncompatibleCheckpointError: A run works on it, or something rewrites it.
    """

    def __init__(self, checkpoint: Storage, *, alone: bool = False) -> None:
        self._descriptor: int | None = None
        if not checkpoint.is_local:
            return
        self._descriptor = os.open(checkpoint.root, os.O_RDONLY)
        try:
            fcntl.flock(self._descriptor, (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)
        except OSError as error:
            self.close()
            if error.errno in _HELD_BY_OTHERS:
                holder = "a run uses it: stop it first" if alone else "it is being repartitioned, wait for that"
                raise IncompatibleCheckpointError(f'the checkpoint "{checkpoint.root}": {holder}') from error
            # A file system that knows no locks.

    def close(self) -> None:
        """Let go of it."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
