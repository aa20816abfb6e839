"""The two sides of a join, and a side of a join among several."""

from enum import IntEnum
from typing import NamedTuple


class Side(IntEnum):
    """Which of the two streams; the numbers are those of [G05], and of the keys of stored basic windows."""

    LEFT = 1
    RIGHT = 2

    @property
    def opposite(self) -> "Side":
        """The other one.

        Example:
            >>> Side.LEFT.opposite.name
            'RIGHT'
        """
        return Side(3 - self)


class SideOf(NamedTuple):
    """A side of a join.

    Attributes:
        joined: The name of the joined stream.
        side: Which.
    """

    joined: str
    side: Side
