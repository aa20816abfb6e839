"""What all nodes share: the way up, and equality by structure."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamshed.network.model.stream import Stream


class Node(ABC):
    """Rows of one kind: a stream, or what an operator makes of it.

    Nodes are frozen; equal structure is equal objects, so the same operator written twice is shared.
    """

    @property
    @abstractmethod
    def columns(self) -> Mapping[str, str | None]:
        """Type by column name, in order; None where only Spark will know the type."""

    @property
    @abstractmethod
    def stream(self) -> "Stream":
        """The stream that its rows come from."""

    @property
    @abstractmethod
    def path(self) -> "tuple[Node, ...]":
        """The nodes from the stream, first, to this one, last."""

    @property
    def is_answers(self) -> bool:
        """Whether its rows are answers of windows."""
        return False

    @cached_property
    def address(self) -> str:
        """Its name among all nodes of a network: its stream and the operators on the way to it, " > " between them."""
        return " > ".join(map(str, self.path))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.address}>"

    @abstractmethod
    def columns_needed(self, used: AbstractSet[str]) -> frozenset[str]:
        """The columns it needs of its input where only some of its own are used."""

    @abstractmethod
    def definition(self, used: AbstractSet[str]) -> tuple[object, ...]:
        """What it does for the columns that are used, the same in every process and release.

        Its input is not part of it. Empty where it does nothing for them.
        """

    @property
    @abstractmethod
    def key(self) -> tuple[object, ...]:
        """What equality compares."""

    @cached_property
    def _hash(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Node):
            return NotImplemented
        return self._hash == other._hash and self.key == other.key

    def __hash__(self) -> int:
        return self._hash

    def __getstate__(self) -> dict[str, object]:
        """Leave out what is cached: hashes hold in one process only."""
        fields: Mapping[str, object] = getattr(type(self), "__dataclass_fields__", {})
        return {name: value for name, value in self.__dict__.items() if name in fields}
