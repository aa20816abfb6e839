"""Which selections share a mask: as many as can be told apart by few different masks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

Selection = tuple[str, ...]
"""The conditions that a row has to pass."""

MOST_BITS = 32
"""Most selections under one mask: of nested ones, each mask goes to half of their queries' windows."""


def chunks(selections: Sequence[Selection], dimensions: Mapping[str, str], most_masks: int) -> list[list[Selection]]:
    """Divide selections into chunks, each to be told by one mask.

    A row updates one partial aggregate per chunk that wants it, so few chunks are good; a slice holds one partial per
    mask that occurs, so few masks are good. Selections over the same values go together: thresholds on one value
    make n + 1 masks, not 2ⁿ.

    Args:
        selections: The selections, each once.
        dimensions: What each condition looks at (see `dimension`); those that are missing count alone.
        most_masks: Most masks a chunk may have, as far as can be told beforehand.

    Returns:
        The chunks, and the selections in them, in an order that does not depend on that of `selections`.
    """
    families: dict[frozenset[str], list[Selection]] = {}
    for selection in sorted(selections):
        looked_at = frozenset(dimensions.get(condition, condition) for condition in selection)
        families.setdefault(looked_at, []).append(selection)
    found: list[list[Selection]] = []
    for _, family in sorted(families.items(), key=lambda item: (-len(item[1]), sorted(item[0]))):
        for part in _parts(family, dimensions, most_masks):
            host = next((chunk for chunk in found if _fits([*chunk, *part], dimensions, most_masks)), None)
            if host is None:
                found.append(part)
            else:
                host += part
    return [sorted(chunk) for chunk in found]


def mask_count(selections: Sequence[Selection], dimensions: Mapping[str, str]) -> int:
    """Estimate how many masks occur: the product over the values looked at of the parts that conditions make of them.

    >>> mask_count([("a",), ("b",), ("c",)], {"a": "size", "b": "size", "c": "port"})
    6
    """
    by_dimension: dict[str, set[str]] = {}
    for selection in selections:
        for condition in selection:
            by_dimension.setdefault(dimensions.get(condition, condition), set()).add(condition)
    return math.prod(len(conditions) + 1 for conditions in by_dimension.values())


def _parts(family: Sequence[Selection], dimensions: Mapping[str, str], most_masks: int) -> list[list[Selection]]:
    """A family in pieces that fit; a selection that alone has too many masks stands alone."""
    parts: list[list[Selection]] = []
    for selection in family:
        if parts and _fits([*parts[-1], selection], dimensions, most_masks):
            parts[-1].append(selection)
        else:
            parts.append([selection])
    return parts


def _fits(selections: Sequence[Selection], dimensions: Mapping[str, str], most_masks: int) -> bool:
    return len(selections) <= MOST_BITS and mask_count(selections, dimensions) <= most_masks
