"""Whether workers have equal shares of the work; where they have not, it is cut finer, or a bound is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

PIECES_PER_SLOT = 4
"""Input that was uneven is cut into so many pieces for each task that can run at a time: whoever is done with an easy
one takes the next."""

_UNEVEN = 0.5
"""Input is uneven that takes longer than it would if spread evenly, by this share of what all work would take so."""

_PATIENCE = 2
"""So many micro-batches in a row; one may be an accident."""

_REMEMBERED = 3

_TELLING_SECONDS = 0.5
"""Less work than this is mostly the start of tasks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StageWork:
    """What one stage of a micro-batch took: tasks that run side by side.

    Args:
        tasks: How many there were, at least 1.
        seconds: What they took, all together.
        longest_seconds: What the longest took.
        is_input: Whether it reads a source, whose rows may be dealt out in another way; else its tasks are given, as by
            the partitions of state.
    """

    tasks: int
    seconds: float
    longest_seconds: float
    is_input: bool


@dataclass(frozen=True, slots=True)
class Balance:
    """How evenly work is spread, as micro-batches tell.

    Uneven input is first cut finer, which costs no answer. A piece that is still much larger than others cannot be cut,
    as a file that only one task can read: it bounds what workers can do.

    Args:
        is_cut: Whether input is cut finer than to one piece for each task that can run at a time. It stays so: nothing
            tells how uneven it would be otherwise.
        uneven: For how many micro-batches in a row input was uneven.
        undivided: In the latest micro-batches, the shares of the work in pieces that no number of workers divides.

    Example:
        Two workers, of which one has nearly all of the input; when it was cut, three tasks of eight share it. Then it
        is a file that cannot be.

        >>> def read(*seconds):
        ...     longest = max(seconds)
        ...     return [StageWork(tasks=len(seconds), seconds=sum(seconds), longest_seconds=longest, is_input=True)]
        >>> balance = Balance()
        >>> for _ in range(2):
        ...     balance = balance.observed(read(9.0, 1.0), slots=2)
        >>> balance.is_cut, balance.undivided_share
        (True, 0.0)
        >>> for _ in range(3):
        ...     balance = balance.observed(read(3.0, 3.0, 3.0, *[0.2] * 5), slots=2)
        >>> round(balance.undivided_share, 3)
        0.3
        >>> for _ in range(3):
        ...     balance = balance.observed(read(9.0, *[0.2] * 5), slots=2)
        >>> round(balance.undivided_share, 3)
        0.9
    """

    is_cut: bool = False
    uneven: int = 0
    undivided: tuple[float, ...] = ()

    @property
    def undivided_share(self) -> float:
        """The lasting share of the work in pieces that no number of workers divides; 0: not known."""
        return min(self.undivided) if len(self.undivided) >= _REMEMBERED else 0.0

    @property
    def pieces_per_slot(self) -> int:
        """Into how many pieces input is cut for each task that can run at a time."""
        return PIECES_PER_SLOT if self.is_cut else 1

    def observed(self, stages: Sequence[StageWork], *, slots: int) -> Balance:
        """Take in what a micro-batch took.

        Args:
            stages: Its stages, one after the other.
            slots: How many tasks could run at a time, at least 1.
        """
        total = sum(stage.seconds for stage in stages)
        if total < _TELLING_SECONDS:
            return self
        excess = sum(stage.longest_seconds - stage.seconds / slots for stage in stages if stage.is_input)
        uneven = self.uneven + 1 if slots > 1 and excess > _UNEVEN * total / slots else 0
        bound = sum(self._undivided_seconds(stage, slots) for stage in stages)
        return replace(
            self,
            is_cut=self.is_cut or uneven >= _PATIENCE,
            uneven=uneven,
            undivided=(*self.undivided, min(1.0, bound / total))[-_REMEMBERED:],
        )

    def _undivided_seconds(self, stage: StageWork, slots: int) -> float:
        """Seconds of a stage that are the same on any number of workers; of input, those that remain when it is cut."""
        if not stage.is_input:
            return stage.longest_seconds
        # Pieces of the size that was asked for would be smaller for more workers.
        is_large = stage.longest_seconds > 2 * stage.seconds / (PIECES_PER_SLOT * slots)
        return stage.longest_seconds if self.is_cut and is_large else 0.0
