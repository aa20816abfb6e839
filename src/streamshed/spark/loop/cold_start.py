"""Which micro-batches of a process are cold: what they take says nothing of those to come."""

from __future__ import annotations

COLD_MICRO_BATCHES = 4
"""So many at most: by then Java has compiled what runs most."""


class ColdStart:
    """Follows the micro-batches that a process has seen.

    The first spends most of its time on compiling what the others use. Those behind it are smaller than others as long
    as what waits is read in pieces, and Java still compiles: by their time, rows would seem far too dear.
    """

    def __init__(self) -> None:
        self._seen = 0
        self._is_over = False

    def is_cold(self, rows_left: int) -> bool:
        """Return whether the next micro-batch that finished is cold.

        Args:
            rows_left: How many rows it left for later ones.

        Example:
            >>> cold_start = ColdStart()
            >>> [cold_start.is_cold(left) for left in (900, 500, 0, 300)]
            [True, True, False, False]
            >>> cold_start = ColdStart()
            >>> [cold_start.is_cold(900) for _ in range(6)]
            [True, True, True, True, False, False]
        """
        self._seen += 1
        self._is_over = self._is_over or (self._seen > 1 and rows_left == 0) or self._seen > COLD_MICRO_BATCHES
        return not self._is_over
