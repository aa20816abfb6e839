"""Slices folded once: the rows of a closed slice become a piece, with what the user's aggregates made of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamshed.answering.table.user_methods import UserMethods, UserShape, failed
from streamshed.answering.user.collected_rows import MARK, CollectedPiece, OrderedLists, in_order, packed_rows

FEWEST_ROWS = 4
"""Fewer rows take less room, and hardly more time, than a piece of them."""


@dataclass(frozen=True)
class Folding:
    """How the slices of a sharing class are folded.

    Attributes:
        shapes: The aggregates that merge its states.
        keeps_rows: Whether anybody may still need the rows: an aggregate that is given them, or to which it matters
            where rows belong that come later.
    """

    shapes: tuple[UserShape, ...]
    keeps_rows: bool = True


Foldings = Mapping[int, Folding]
"""By `SharingClass.class_id`."""


def folded(foldings: Foldings, class_ids: pa.Array, collected: pa.Array) -> pa.Array:
    """Put the rows of slices together, each list of them into one piece.

    Args:
        foldings: How; the slices of other classes stay as they are.
        class_ids: Per slice, its class.
        collected: Per slice, its rows; null where no aggregate merges states. Pieces among them stay as they are.

    Returns:
        Lists of the same type; null where there was none.

    Raises:
        UserAggregateError: A method failed, or a state cannot be pickled.
    """
    lists = in_order(collected)
    methods = {shape: UserMethods(shape) for folding in foldings.values() for shape in folding.shapes}
    instants: list[int] = []
    texts: list[str] = []
    counts: list[int] = []
    for class_id, positions in zip(class_ids.to_pylist(), lists, strict=True):
        folding = foldings.get(class_id) if _is_worth_it(lists.texts[positions]) else None
        piece = None if folding is None else _piece(folding, methods, lists, positions)
        instants += lists.instants[positions].tolist() if piece is None else [piece.first[0]]
        texts += lists.texts[positions] if piece is None else [piece.written()]
        counts.append(positions.stop - positions.start if piece is None else 1)
    kind = collected.type.value_type
    rows = pa.StructArray.from_arrays(
        [pa.array(instants, kind.field("instant").type), pa.array(texts, kind.field("text").type)], ["instant", "text"]
    )
    offsets = pa.array(np.concatenate([[0], np.cumsum(counts)]), pa.int32())
    folded_lists = pa.ListArray.from_arrays(offsets, rows)
    return pc.if_else(collected.is_valid(), folded_lists, pa.nulls(len(folded_lists), folded_lists.type))


def _is_worth_it(texts: Sequence[str]) -> bool:
    return len(texts) >= FEWEST_ROWS and not any(text.startswith(MARK) for text in texts)


def _piece(
    folding: Folding, methods: Mapping[UserShape, UserMethods], lists: OrderedLists, positions: slice
) -> CollectedPiece:
    instants, texts = lists.instants[positions], lists.texts[positions]
    return CollectedPiece(
        (int(instants[0]), texts[0]),
        (int(instants[-1]), texts[-1]),
        len(texts),
        {methods[shape].state_key: _state(shape, methods[shape], texts) for shape in folding.shapes},
        packed_rows(instants, texts) if folding.keeps_rows else b"",
    )


def _state(shape: UserShape, user: UserMethods, texts: Sequence[str]) -> bytes:
    try:
        return user.pickled(user.extended(user.init(), texts))
    except Exception as error:
        raise failed(shape, error, f"a slice of {len(texts)} rows") from error
