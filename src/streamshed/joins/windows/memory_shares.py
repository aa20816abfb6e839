"""How the partitions of a join share what memory its windows may take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

_KEPT_EVEN = 0.1
"""Of the limit, what all partitions have alike, so that one whose rows begin to come can keep the first of them."""


@dataclass(frozen=True, kw_only=True)
class MemoryShares:
    """What each partition may keep.

    Args:
        limit: Of all together, bytes.
        each: Of a partition that is not named.
        by_label: Of others.

    Example:
        >>> shares = shared(1000, {1: 100, 2: 300}, partitions=2)
        >>> shares.of(1), shares.of(2), shares.of(3)
        (400, 600, 0)
        >>> MemoryShares.from_document(shares.to_document()) == shares
        True
    """

    limit: int
    each: int
    by_label: Mapping[int, int] = field(default_factory=dict)

    def of(self, label: int) -> int:
        """Return what a partition may keep, bytes."""
        return self.by_label.get(label, self.each)

    def to_document(self) -> dict[str, Any]:
        """Return it as what JSON can hold."""
        return {"limit": self.limit, "each": self.each, "by_label": {str(k): v for k, v in self.by_label.items()}}

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> MemoryShares:
        """Read what `to_document` wrote."""
        by_label = {int(label): size for label, size in document["by_label"].items()}
        return cls(limit=document["limit"], each=document["each"], by_label=by_label)


def shared(limit: int, wanted: Mapping[int, int], *, partitions: int) -> MemoryShares:
    """Share memory among partitions by what their windows would take, so that all keep rows for as long.

    One with half the rows has about half of the memory: then the least promising rows of the join are those that go,
    whichever partition they are in. What is left over is shared evenly, and so is a tenth in any case.

    Args:
        limit: Of all together, bytes.
        wanted: By label, what the windows of a partition would take, nothing released; of all, or it is shared evenly.
        partitions: How many there are.

    Example:
        >>> shared(1000, {}, partitions=4).of(7)
        250
        >>> shared(1000, {1: 500, 2: 1500}, partitions=2).by_label
        {1: 275, 2: 725}
        >>> shared(1000, {1: 0, 2: 1500}, partitions=2).by_label
        {1: 50, 2: 950}
    """
    total = sum(wanted.values())
    if partitions == 1 or len(wanted) < partitions or not total:
        return MemoryShares(limit=limit, each=limit // partitions)
    granted = min(1.0, (1.0 - _KEPT_EVEN) * limit / total)
    rest = limit - granted * total
    shares = {label: int(granted * size + rest / len(wanted)) for label, size in sorted(wanted.items())}
    return MemoryShares(limit=limit, each=0, by_label=shares)
