"""Which windows of a query are dropped: a coin per epoch, no gap too long, and the share p in the long run.

[T06] §3.4 flips one coin for B windows, so that rows in between belong to dropped windows only and need not be looked
at. Two drops in a row would make a gap of 2B: a window of the second is opened then, and made up for at a later keep.

Ours is no coin of chance: epoch e drops iff the fractional part of e·g, g the golden ratio, is below p. Among any few
epochs in a row are then as many dropped as p asks for, but one or two: gaps are shorter, and a micro-batch takes as
long as the next.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from streamshed.network.terms.window import WindowSpecification

_UNIT = 2.0**-64
_GOLDEN = 0x9E3779B97F4A7C15
"""The golden ratio's fractional part, times 2^64: multiples of it fill the unit interval evenly."""


@dataclass(frozen=True, slots=True)
class GapCoin:
    """Decides window by window, in order; the same seed, and the same p for the same epochs, give the same windows.

    One coin is flipped for all windows that start within an epoch. Queries with the same seed and the same epochs drop
    at the same time, one with a larger p whenever one with a smaller p does: so rows that the one does not need, the
    other does not need either.

    Attributes:
        seed: Of queries that are to drop at the same time; others drop at other times.
        batch: B, windows that may be dropped one after the other; at least 1.
        window: Of the query.
        epoch: How long an epoch is, microseconds; at most B · δ for one coin to drop whole epochs.
        turn: Of coins that drop one after the other, how far behind the first this one is, in [0, 1).
        next_window: Index k of the window that is decided next, which starts at θ + kδ.
        gap: How many before it were dropped, one after the other; at most B.
        owed: Windows that were kept though their coin said drop.

    Example:
        >>> of_query = GapCoin(seed=1, batch=2, window=WindowSpecification(10, 5), epoch=10)
        >>> coin, dropped = of_query.through(9, drop_share=1.0)
        >>> dropped, coin.gap, coin.owed
        ((0, 1, 3, 4, 6, 7, 9), 1, 3)
    """

    seed: int
    batch: int
    window: WindowSpecification
    epoch: int
    next_window: int = 0
    gap: int = 0
    owed: int = 0
    turn: float = 0.0

    def through(self, last_window: int, *, drop_share: float) -> tuple[GapCoin, tuple[int, ...]]:
        """Decide on all windows up to one.

        Args:
            last_window: Its index; nothing is decided where that was decided before.
            drop_share: p: which share of the windows is to be dropped. Up to B/(B+1) that is what happens in the long
                run; beyond that, as many are dropped as the bound of gaps allows.

        Returns:
            The coin as it stands then, and the indices of those that are dropped.
        """
        return self._decided(last_window, lambda number: self.says_drop(number, drop_share), owes=True)

    def through_runs(self, last_window: int, says_drop: Callable[[int], bool]) -> tuple[GapCoin, tuple[int, ...]]:
        """Decide on all windows up to one as somebody else says, as far as no gap becomes too long.

        Args:
            last_window: Its index; nothing is decided where that was decided before.
            says_drop: Whether a window is to be dropped. One that is kept nonetheless is not made up for.
        """
        return self._decided(last_window, says_drop, owes=False)

    def _decided(self, last_window: int, says: Callable[[int], bool], *, owes: bool) -> tuple[GapCoin, tuple[int, ...]]:
        gap, owed, dropped = self.gap, self.owed if owes else 0, []
        for number in range(self.next_window, last_window + 1):
            says_drop = says(number)
            is_dropped = gap < self.batch and (says_drop or owed > 0)
            owed += says_drop - is_dropped if owes else 0
            gap = gap + 1 if is_dropped else 0
            if is_dropped:
                dropped.append(number)
        decided = max(self.next_window, last_window + 1)
        return replace(self, next_window=decided, gap=gap, owed=owed), tuple(dropped)

    def says_drop(self, number: int, drop_share: float) -> bool:
        """Tell what the coin says of a window: with a larger p whenever with a smaller one."""
        return self._chance(number) < drop_share

    def _chance(self, number: int) -> float:
        """A number in [0, 1) of the epoch in which a window starts."""
        start = self.window.offset_microseconds + number * self.window.slide_microseconds
        shift = int.from_bytes(hashlib.blake2b(str(self.seed).encode(), digest_size=8).digest(), "big")
        return ((start // self.epoch * _GOLDEN + shift + int(self.turn * 2**64)) % 2**64) * _UNIT


def may_abandon(dropped: AbstractSet[int], window: int, gap_windows: int) -> bool:
    """Tell whether a window that was kept may be dropped after all: no gap becomes longer than allowed.

    >>> may_abandon({3, 5}, 4, 3), may_abandon({3, 5}, 4, 2)
    (True, False)
    """
    length = 1
    for step in (-1, 1):
        other = window + step
        while other in dropped:
            length, other = length + 1, other + step
    return window not in dropped and length <= gap_windows
