"""An aggregate of the user's own as it is called: its methods, and the values they are given."""

from __future__ import annotations

import functools
import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from hashlib import blake2b
from typing import Any

from streamshed.answering.table.group_key import parts
from streamshed.errors import InvalidNetworkError, StreamshedError
from streamshed.network.terms.function import FunctionReference
from streamshed.network.terms.function_state import behavior_digest

METHODS = ("init", "incr", "final")
"""What an aggregate of the user's own can do."""
MERGE = "merge"
"""What it may be able to do besides."""
ORDER_MATTERS = "order_matters"
"""What it may say of itself: false if the same comes of rows in any order."""

_PICKLE_PROTOCOL = 5
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FLOATS = frozenset({"float", "double"})
WHOLE = frozenset({"tinyint", "smallint", "int", "bigint"})


class UserAggregateError(StreamshedError, ValueError):
    """A user's aggregate failed, or returned what cannot be an answer."""


@dataclass(frozen=True)
class UserShape:
    """How an aggregate of the user's own is computed.

    Attributes:
        function: Makes an object with the `METHODS`, and perhaps `MERGE` and `ORDER_MATTERS`.
        argument_types: Types of the values that `incr` is given, Spark's names.
        returns: Type of what `final` returns, likewise.
    """

    function: FunctionReference
    argument_types: tuple[str, ...]
    returns: str


class UserMethods:
    """The methods of an object of the user's, given rows as the texts in which they travel.

    Args:
        shape: What makes the object, and of which types the values are.
    """

    def __init__(self, shape: UserShape) -> None:
        self._shape = shape
        self._made: Any = shape.function.resolve()()
        self._readers = [_reader(kind) for kind in shape.argument_types]
        self.state_key = _state_key(shape, self._made) if self.merges else ""
        """What states are told apart by: those that other code has made, or of other values, have another key."""

    @property
    def merges(self) -> bool:
        """Whether states can be put together."""
        return callable(getattr(self._made, MERGE, None))

    @property
    def merges_in_any_order(self) -> bool:
        """Whether, besides, no row needs to be kept for the case that others come before it."""
        return self.merges and not getattr(self._made, ORDER_MATTERS, True)

    def init(self) -> object:
        """Return the state of no rows."""
        state: object = self._made.init()
        return state

    def extended(self, state: object, texts: Sequence[str]) -> object:
        """Return the state after some more rows."""
        for text in texts:
            fields = zip(self._readers, parts(text), strict=True)
            state = self._made.incr(state, *[None if part is None else read(part) for read, part in fields])
        return state

    def merged(self, left: object, right: object) -> object:
        """Return the state of one's rows followed by the other's."""
        state: object = self._made.merge(left, right)
        return state

    def final(self, state: object) -> object:
        """Return the answer."""
        answer: object = self._made.final(state)
        return answer

    def pickled(self, state: object) -> bytes:
        """Write a state down.

        Raises:
            UserAggregateError: It cannot be pickled.
        """
        try:
            return pickle.dumps(state, _PICKLE_PROTOCOL)
        except Exception as error:
            raise UserAggregateError(
                f"aggregate {self._shape.function.name}: it has a method {MERGE}, so its states travel pickled, but"
                f" {state!r} cannot be: {error}. Make states of plain values, or of classes at the top of a module"
            ) from error


def _state_key(shape: UserShape, made: object) -> str:
    try:
        behavior = behavior_digest(made, without=("final",))
    except InvalidNetworkError:
        behavior = ""
    text = repr((shape.function.definition, shape.argument_types, behavior))
    return blake2b(text.encode(), digest_size=8).hexdigest()


def failed(shape: UserShape, error: Exception, where: str) -> UserAggregateError:
    """Return what to raise where a method of the user's failed."""
    if isinstance(error, UserAggregateError):
        return error
    return UserAggregateError(f"aggregate {shape.function.name}: {type(error).__name__}: {error} (in {where})")


@functools.cache
def _reader(kind: str) -> Callable[[str], object]:
    """Return what reads values of a type from the text that they travel as."""
    if kind in WHOLE:
        return int
    if kind in FLOATS:
        return float
    if kind.startswith("decimal"):
        return Decimal
    readers: dict[str, Callable[[str], object]] = {
        "boolean": lambda text: text == "1",
        "binary": bytes.fromhex,
        "date": lambda text: date(1970, 1, 1) + timedelta(days=int(text)),
        "timestamp": lambda text: _EPOCH + timedelta(microseconds=int(text)),
        "timestamp_ntz": lambda text: _EPOCH.replace(tzinfo=None) + timedelta(microseconds=int(text)),
    }
    return readers.get(kind, str)
