"""Rows that have arrived and wait for a micro-batch."""

from collections import deque

from streamshed.simulator.profiles import LoadCurve

_HALVINGS = 60


class ArrivalQueue:
    """The rows of one stream between arrival and micro-batch, in whole rows.

    Args:
        profile: When rows arrive.
        largest_micro_batch_rows: How many a micro-batch takes at most; None for all.

    Example:
        >>> from streamshed.simulator.profiles import constant
        >>> queue = ArrivalQueue(constant(10), largest_micro_batch_rows=15)
        >>> queue.take(2.0), queue.waiting_rows, queue.oldest_seconds
        (15, 5, 0.0)
        >>> round(queue.taken_until_seconds, 6)
        1.5
        >>> queue.take(3.0), queue.waiting_rows
        (15, 0)
    """

    def __init__(self, profile: LoadCurve, largest_micro_batch_rows: int | None = None) -> None:
        self._profile = profile
        self._largest = largest_micro_batch_rows
        self._cut_seconds = 0.0
        self._taken_rows = 0
        self._waiting: deque[tuple[float, int]] = deque()

    @property
    def waiting_rows(self) -> int:
        """Rows that have been seen and not been taken."""
        return sum(rows for _, rows in self._waiting)

    @property
    def oldest_seconds(self) -> float:
        """From when on rows that wait, or that come next, have arrived."""
        return self._waiting[0][0] if self._waiting else self._cut_seconds

    @property
    def taken_until_seconds(self) -> float:
        """The time up to which all rows that have arrived have been taken."""
        if not self._waiting:
            return self._cut_seconds
        low, high = 0.0, self._cut_seconds
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            low, high = (middle, high) if self._profile.rows_before(middle) < self._taken_rows else (low, middle)
        return high

    def take(self, now_seconds: float) -> int:
        """Take the rows of a micro-batch that starts now, oldest first, and return how many."""
        arrived = self.arriving(self._cut_seconds, now_seconds)
        if arrived:
            self._waiting.append((self._cut_seconds, arrived))
        self._cut_seconds = now_seconds
        room = self.waiting_rows if self._largest is None else min(self.waiting_rows, self._largest)
        taken = room
        while room:
            since, rows = self._waiting.popleft()
            if rows > room:
                self._waiting.appendleft((since, rows - room))
            room -= min(rows, room)
        self._taken_rows += taken
        return taken

    def arriving(self, start_seconds: float, end_seconds: float) -> int:
        """Return how many rows arrive between two times; none when they are in the wrong order."""
        if end_seconds <= start_seconds:
            return 0
        return int(self._profile.rows_before(end_seconds)) - int(self._profile.rows_before(start_seconds))
