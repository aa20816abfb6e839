"""The two sides of a join."""

from enum import IntEnum


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
