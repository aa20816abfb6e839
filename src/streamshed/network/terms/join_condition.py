"""When two rows of different streams join, as a user says it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from streamshed.errors import InvalidNetworkError
from streamshed.network.terms.function import FunctionReference, function_reference
from streamshed.network.words.given import is_filled_text, is_finite, is_whole_number, items_of


@dataclass(frozen=True, slots=True)
class EqualColumns:
    """Columns are equal, pair by pair. Null equals nothing.

    Attributes:
        pairs: (column of the left side, column of the right side).
    """

    pairs: tuple[tuple[str, str], ...]

    def __post_init__(self) -> None:
        if not self.pairs:
            raise InvalidNetworkError("no key: say which columns must be equal, on=...")
        object.__setattr__(self, "pairs", tuple(dict.fromkeys(self.pairs)))

    @property
    def left(self) -> tuple[str, ...]:
        """The columns of the left side."""
        return tuple(left for left, _ in self.pairs)

    @property
    def right(self) -> tuple[str, ...]:
        """The columns of the right side."""
        return tuple(right for _, right in self.pairs)

    @property
    def definition(self) -> tuple[object, ...]:
        """What it asks, the same in every process and release."""
        return ("equal", *sorted((left.lower(), right.lower()) for left, right in self.pairs))

    def __str__(self) -> str:
        return ", ".join(left if left == right else f"{left} = {right}" for left, right in self.pairs)


@dataclass(frozen=True, slots=True)
class _OneColumnEach:
    """What is compared is one column of either side."""

    left_column: str
    right_column: str

    @property
    def left(self) -> tuple[str, ...]:
        """The column of the left side."""
        return (self.left_column,)

    @property
    def right(self) -> tuple[str, ...]:
        """The column of the right side."""
        return (self.right_column,)


@dataclass(frozen=True, slots=True)
class CommonItems(_OneColumnEach):
    """Two lists have at least so many items in common; made by `overlap`.

    Attributes:
        left_column: Of lists.
        right_column: Of lists.
        at_least: θ, a whole number of at least 1.
    """

    at_least: int

    def __post_init__(self) -> None:
        if not is_whole_number(self.at_least, at_least=1):
            raise InvalidNetworkError(
                f"overlap: at_least is {self.at_least!r}, expected a whole number of at least 1:"
                " sets without a common item would join"
            )

    @property
    def definition(self) -> tuple[object, ...]:
        """What it asks, the same in every process and release."""
        return ("overlap", self.left_column.lower(), self.right_column.lower(), self.at_least)

    def __str__(self) -> str:
        return f"overlap({self.left_column}, {self.right_column}) >= {self.at_least}"


@dataclass(frozen=True, slots=True)
class WeightedItems(_OneColumnEach):
    """The inner product of two weighted sets is large enough; made by `inner_product`.

    Attributes:
        left_column: Of maps from items to weights.
        right_column: Of such.
        at_least: θ, above 0.
    """

    at_least: float

    def __post_init__(self) -> None:
        if not (is_finite(self.at_least) and self.at_least > 0):
            raise InvalidNetworkError(
                f"inner_product: at_least is {self.at_least!r}, expected a number above 0:"
                " sets without a common item would join"
            )
        object.__setattr__(self, "at_least", float(self.at_least))

    @property
    def definition(self) -> tuple[object, ...]:
        """What it asks, the same in every process and release."""
        return ("inner_product", self.left_column.lower(), self.right_column.lower(), self.at_least)

    def __str__(self) -> str:
        return f"inner_product({self.left_column}, {self.right_column}) >= {self.at_least:g}"


@dataclass(frozen=True, slots=True)
class PairFunction:
    """A function of the user's says which pairs join; made by `pairs_where`.

    Attributes:
        function: Given two `pyarrow.Table`s of as many rows, pair by pair, returns as many truth values.
    """

    function: FunctionReference

    @property
    def left(self) -> tuple[str, ...]:
        """No column that is known beforehand."""
        return ()

    @property
    def right(self) -> tuple[str, ...]:
        """No column that is known beforehand."""
        return ()

    @property
    def definition(self) -> tuple[object, ...]:
        """What it asks, the same in every process and release."""
        return ("function", self.function.definition)

    def __str__(self) -> str:
        return self.function.name


JoinCondition: TypeAlias = EqualColumns | CommonItems | WeightedItems | PairFunction
JoinKey: TypeAlias = JoinCondition | str | Sequence[str] | Mapping[str, str]
"""What a user may give for a condition."""


def overlap(left: str, right: str | None = None, *, at_least: int) -> CommonItems:
    """Join rows whose lists have items in common.

    Args:
        left: The left side's column of lists.
        right: The right side's; None: it has the same name.
        at_least: θ, how many different items they have in common.

    Raises:
        InvalidNetworkError: θ is below 1.

    Example:
        >>> str(overlap("tags", "labels", at_least=3))
        'overlap(tags, labels) >= 3'
    """
    return CommonItems(left, left if right is None else right, at_least)


def inner_product(left: str, right: str | None = None, *, at_least: float) -> WeightedItems:
    """Join rows by Σ weight·weight over the items that both have.

    Args:
        left: The left side's column of maps from items to weights.
        right: The right side's; None: it has the same name.
        at_least: θ, above 0.

    Raises:
        InvalidNetworkError: θ is not above 0.
    """
    return WeightedItems(left, left if right is None else right, at_least)


def pairs_where(function: Callable[..., Any] | str) -> PairFunction:
    """Join the pairs of rows for which a function says so.

    Args:
        function: Given two `pyarrow.Table`s of as many rows, pair by pair, returns as many truth values; or its name,
            "module:function".

    Raises:
        InvalidNetworkError: It is neither.
    """
    return PairFunction(function_reference(function))


def join_condition(on: JoinKey) -> JoinCondition:
    """Read what a user gives for a condition: one, or the columns that must be equal.

    Raises:
        InvalidNetworkError: It is neither.

    Example:
        >>> str(join_condition("host")), str(join_condition({"src": "host"}))
        ('host', 'src = host')
    """
    if isinstance(on, EqualColumns | CommonItems | WeightedItems | PairFunction):
        return on
    items = (on,) if isinstance(on, str) else items_of(on)
    given = list(on.items()) if isinstance(on, Mapping) else [(one, one) for one in items or ()]
    pairs = tuple((mine, theirs) for mine, theirs in given if isinstance(mine, str) and isinstance(theirs, str))
    pairs = tuple(pair for pair in pairs if all(map(is_filled_text, pair)))
    if items is None or len(pairs) < len(given):
        raise InvalidNetworkError(
            "on is a column, a list of columns, {column of the left side: column of the right side}, overlap(...),"
            f" inner_product(...) or pairs_where(function), got {on!r}"
        )
    return EqualColumns(pairs)
