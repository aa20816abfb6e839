"""Which selections of rows share a mask."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

Selection = tuple[str, ...]
"""The conditions that a row has to pass."""

MOST_BITS = 32
"""Most selections under one mask: of nested ones, each mask goes to half of their queries' windows."""


def chunks(selections: Sequence[Selection], dimensions: Mapping[str, str], most_masks: int) -> list[list[Selection]]:
    """Divide selections into chunks, each with a mask of its own.

    A row updates one partial aggregate per chunk that wants it, so few chunks are good; a slice holds one partial per
    mask that occurs, so few masks are good. Selections over the same values go together: thresholds on one value
    make n + 1 masks, not 2ⁿ.

    Args:
        selections: The selections, each once.
        dimensions: What each condition looks at (see `dimension`); those that are missing count alone.
        most_masks: Most masks that a chunk may have, by estimate.

    Returns:
        The chunks, and the selections in them, in an order that does not depend on that of `selections`.
    """
    families: dict[frozenset[str], list[Selection]] = {}
    for selection in sorted(selections):
        looked_at = frozenset(dimensions.get(condition, condition) for condition in selection)
        families.setdefault(looked_at, []).append(selection)
    packed_chunks: list[_Chunk] = []
    for _, family in sorted(families.items(), key=lambda item: (-len(item[1]), sorted(item[0]))):
        for part in _parts(family, dimensions, most_masks):
            host = next((chunk for chunk in packed_chunks if chunk.has_room_for(part, most_masks)), None)
            if host is None:
                packed_chunks.append(part)
            else:
                host.add(part)
    return [sorted(chunk.selections) for chunk in packed_chunks]


class _Chunk:
    """Selections that share a mask, and the conditions that set its bits, by the value that these look at."""

    def __init__(self, selections: Sequence[Selection], dimensions: Mapping[str, str]) -> None:
        self.selections = list(selections)
        self._conditions: dict[str, set[str]] = {}
        for selection in selections:
            for condition in selection:
                self._conditions.setdefault(dimensions.get(condition, condition), set()).add(condition)
        self.mask_count = math.prod(len(conditions) + 1 for conditions in self._conditions.values())

    def has_room_for(self, other: _Chunk, most_masks: int) -> bool:
        if len(self.selections) + len(other.selections) > MOST_BITS:
            return False
        masks = self.mask_count
        for dimension, conditions in other._conditions.items():
            present = self._conditions.get(dimension, set())
            masks = masks // (len(present) + 1) * (len(present | conditions) + 1)
        return masks <= most_masks

    def add(self, other: _Chunk) -> None:
        self.selections += other.selections
        for dimension, conditions in other._conditions.items():
            self._conditions.setdefault(dimension, set()).update(conditions)
        self.mask_count = math.prod(len(conditions) + 1 for conditions in self._conditions.values())


def _parts(family: Sequence[Selection], dimensions: Mapping[str, str], most_masks: int) -> list[_Chunk]:
    """Split a family into parts that fit; a selection that has too many masks by itself is a part of its own."""
    parts: list[_Chunk] = []
    for selection in family:
        alone = _Chunk([selection], dimensions)
        if parts and parts[-1].has_room_for(alone, most_masks):
            parts[-1].add(alone)
        else:
            parts.append(alone)
    return parts
