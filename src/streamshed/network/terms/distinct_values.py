"""How distinct values are counted exactly: as an aggregate F(init, incr, final) whose states can be merged."""

from __future__ import annotations


class DistinctValues:
    """Collects the values there are; two slices have those that either has.

    Example:
        >>> made = DistinctValues()
        >>> left, right = made.incr(made.incr(made.init(), 3), 4), made.incr(made.init(), 3)
        >>> made.final(made.merge(left, right))
        2
    """

    order_matters = False

    def init(self) -> set[object]:
        """No values."""
        return set()

    def incr(self, state: set[object], value: object) -> set[object]:
        """One value more; null is none, and NaN is NaN."""
        if value is not None:
            state.add(value if value == value else _NOT_A_NUMBER)  # noqa: PLR0124 - so NaN is told
        return state

    def merge(self, left: set[object], right: set[object]) -> set[object]:
        """The values of both."""
        return left | right

    def final(self, state: set[object]) -> int:
        """How many there are."""
        return len(state)


_NOT_A_NUMBER = "NaN"
