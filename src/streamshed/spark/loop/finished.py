"""The states after the micro-batches that finished last, for those who only look now and then."""

from __future__ import annotations

from streamshed.spark.loop.run_status import RunStatus

_KEPT = 100


class Finished:
    """Keeps the states of a time domain after its latest hundred micro-batches.

    One thread may add while others look.

    Args:
        clock: The time domain.

    Example:
        >>> finished = Finished("time")
        >>> finished.latest.micro_batch_id
        -1
        >>> for number in range(3):
        ...     finished.add(RunStatus(clock="time", micro_batch_id=number))
        >>> [status.micro_batch_id for status in finished.since(0)]
        [1, 2]
    """

    def __init__(self, clock: str) -> None:
        self._before_the_first = RunStatus(clock=clock)
        # Replaced, never changed, so that no reader sees half an addition.
        self._statuses: tuple[RunStatus, ...] = ()

    @property
    def latest(self) -> RunStatus:
        """The state after the latest micro-batch."""
        return self._statuses[-1] if self._statuses else self._before_the_first

    def add(self, status: RunStatus) -> None:
        """Take in the state after one more micro-batch."""
        self._statuses = (*self._statuses, status)[-_KEPT:]

    def since(self, micro_batch_id: int) -> tuple[RunStatus, ...]:
        """Return the states after later micro-batches than this one, oldest first."""
        return tuple(status for status in self._statuses if status.micro_batch_id > micro_batch_id)
