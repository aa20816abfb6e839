"""What was read of texts: rows, and of which of them it is sure that they are Spark's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np
import pyarrow as pa

from streamshed.columnar.texts.letters import Mask, Places

_TEXTS_AT_ONCE = 32_768
"""So many ordinary texts, and what is made of them, stay in a cache."""


@dataclass(frozen=True, slots=True)
class ParsedTexts:
    """What was read of texts.

    Attributes:
        columns: One row per text, in order; null where nobody is sure.
        is_sure: Of which rows Spark has the same values, and no corrupt record. One Boolean per text.
    """

    columns: pa.RecordBatch
    is_sure: Mask

    @classmethod
    def at_places(cls, rows: pa.RecordBatch, places: Places, is_sure: Mask, count: int) -> Self:
        """Put rows at the places of their texts, nulls at all others.

        Args:
            rows: Of some texts.
            places: The number of the text of each.
            is_sure: Of which of them it is sure.
            count: How many texts there are.

        Example:
            >>> rows = pa.RecordBatch.from_pydict({"a": [1, 2]})
            >>> parsed = ParsedTexts.at_places(rows, np.array([2, 0]), np.array([True, False]), 3)
            >>> parsed.columns["a"].to_pylist(), parsed.is_sure.tolist()
            ([None, None, 1], [False, False, True])
        """
        if len(places) == count and is_sure.all() and np.all(places[:-1] < places[1:]):
            return cls(rows, is_sure)
        sources = np.full(count, -1)
        sources[places[is_sure]] = np.flatnonzero(is_sure)
        return cls(rows.take(pa.array(sources, mask=sources < 0)), sources >= 0)


def in_pieces(read: Callable[[pa.Array], ParsedTexts], texts: pa.Array) -> ParsedTexts:
    """Read texts, so many at a time that they stay in a cache.

    Args:
        read: Reads some, binary ones.
        texts: Binary or string, some null.
    """
    texts = texts.cast(pa.binary())
    parts = [read(texts.slice(start, _TEXTS_AT_ONCE)) for start in range(0, len(texts) or 1, _TEXTS_AT_ONCE)]
    if len(parts) == 1:
        return parts[0]
    columns = pa.concat_batches([part.columns for part in parts])
    return ParsedTexts(columns, np.concatenate([part.is_sure for part in parts]))
