"""When two rows join."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa

from streamshed.errors import InvalidNetworkError
from streamshed.joins.model.arrays import Booleans

PairPredicate = Callable[[pa.Table, pa.Table], Booleans]
"""Given left and right rows, as many of either, tells of each pair whether it joins."""


@dataclass(frozen=True, slots=True)
class Equality:
    """Keys are equal, column by column. Null equals nothing; NaN = NaN and −0.0 = 0.0, as in Spark.

    Args:
        left: Key columns of the left side.
        right: Those of the right side, in the same order.

    Raises:
        InvalidNetworkError: There is none, or not as many on both sides.
    """

    left: tuple[str, ...]
    right: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.left or len(self.left) != len(self.right):
            raise InvalidNetworkError(
                f"a join on equality has keys {list(self.left)} and {list(self.right)}, expected as many on both sides"
            )


@dataclass(frozen=True, slots=True)
class Overlap:
    """Two sets have at least θ items in common.

    A set is a list. An item that is in it twice counts once, null items do not; a null or empty set joins nothing.

    Args:
        left: Column of lists of the left side.
        right: Column of lists of the right side.
        threshold: θ, at least 1.

    Raises:
        InvalidNetworkError: θ is below 1.
    """

    left: str
    right: str
    threshold: int

    def __post_init__(self) -> None:
        if self.threshold < 1:
            raise InvalidNetworkError(
                f"threshold of an overlap is {self.threshold}, expected at least 1:"
                " sets without a common item would join"
            )


@dataclass(frozen=True, slots=True)
class InnerProduct:
    """The inner product of two weighted sets, Σ weight·weight over the items in both, is at least θ.

    A weighted set is a map from items to weights, or a list of structs of the two. Weights of an item that is in it
    twice are added up; an item with a weight that is null or NaN is left out, as is a null item; a null or empty set
    joins nothing. A product that is not a number (∞ − ∞) is not at least θ.

    Args:
        left: Column of maps, or of lists of structs, of the left side.
        right: That of the right side.
        threshold: θ, above 0.

    Raises:
        InvalidNetworkError: θ is not above 0.
    """

    left: str
    right: str
    threshold: float

    def __post_init__(self) -> None:
        if not self.threshold > 0:
            raise InvalidNetworkError(
                f"threshold of an inner product is {self.threshold}, expected more than 0:"
                " sets without a common item would join"
            )


@dataclass(frozen=True, slots=True)
class Predicate:
    """A function of the user's says so, for many pairs at once.

    Args:
        function: Is given two tables of as many rows and returns as many truth values; null is false.
    """

    function: PairPredicate


Condition = Equality | Overlap | InnerProduct | Predicate
