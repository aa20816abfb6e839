"""Lists of collected rows, for aggregates of the user's own, and pieces: some of the rows of a list put together.

A row is the instant of its event and the text of its values, and rows are in order of both: those of one instant in
order of their texts, so that rows which cannot be told apart are all that is left in no order. In the place of rows
that nothing came between, a list may hold a piece: what aggregates made of them, and the rows themselves, packed, for
the case that something does come between them; where that matters to nobody, without them. It looks like a row whose
text no row has.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamshed.answering.table.window_partials import Longs

Row = tuple[int, str]
"""Instant in microseconds, text."""

MARK = "\\M1|"
"""What pieces begin with; in the text of a row a backslash is followed by another one, a u or an N."""

_SEPARATOR, _COLON = "|", ":"
_CODEC = "zstd"


@dataclass(frozen=True)
class CollectedPiece:
    """Rows that follow one another, put together.

    Attributes:
        first: The first of them.
        last: The last.
        count: How many they are.
        states: What aggregates made of them, pickled, by `UserMethods.state_key`.
        packed: The rows, see `packed_rows`; empty where nobody needs them any more.
    """

    first: Row
    last: Row
    count: int
    states: Mapping[str, bytes]
    packed: bytes

    def rows(self) -> list[Row]:
        """Return the rows, in order."""
        return unpacked_rows(self.packed, self.first[0], self.count)

    def written(self) -> str:
        """Return the text that stands for the piece in a list; its instant is that of the first row."""
        fields = [
            str(self.count),
            str(self.last[0]),
            _encoded(self.first[1].encode()),
            _encoded(self.last[1].encode()),
            _encoded(self.packed),
            *(f"{key}{_COLON}{_encoded(state)}" for key, state in self.states.items()),
        ]
        return MARK + _SEPARATOR.join(fields)

    @classmethod
    def read(cls, row: Row) -> CollectedPiece:
        """Read what `written` wrote."""
        instant, text = row
        count, last_instant, first, last, packed, *states = text.removeprefix(MARK).split(_SEPARATOR)
        by_key = dict(state.split(_COLON) for state in states)
        return cls(
            (instant, base64.b64decode(first).decode()),
            (int(last_instant), base64.b64decode(last).decode()),
            int(count),
            {key: base64.b64decode(state) for key, state in by_key.items()},
            base64.b64decode(packed),
        )


@dataclass(frozen=True)
class OrderedLists:
    """Lists of rows and pieces, each in order.

    Attributes:
        instants: Of all lists, one list after the other.
        texts: Likewise.
        ends: Index after the last one of each list.
    """

    instants: Longs
    texts: list[str]
    ends: list[int]

    def __iter__(self) -> Iterator[slice]:
        begin = 0
        for end in self.ends:
            yield slice(begin, end)
            begin = end

    def rows(self, of_list: slice) -> list[Row]:
        """Return what a list holds."""
        return list(zip(self.instants[of_list].tolist(), self.texts[of_list], strict=True))


def in_order(collected: pa.Array) -> OrderedLists:
    """Put the rows of each list in order.

    Args:
        collected: Lists of (instant, text); a null is an empty one.

    Example:
        >>> kind = pa.list_(pa.struct([("instant", pa.int64()), ("text", pa.string())]))
        >>> lists = in_order(pa.array([[(2, "b"), (1, "z"), (2, "a")], None, [(0, "c")]], kind))
        >>> [lists.rows(one) for one in lists]
        [[(1, 'z'), (2, 'a'), (2, 'b')], [], [(0, 'c')]]
    """
    lists = pc.list_parent_indices(collected).to_numpy(zero_copy_only=False)
    rows = pc.list_flatten(collected)
    instants, texts = rows.field("instant"), rows.field("text")
    order = pc.sort_indices(
        pa.table({"list": lists, "instant": instants, "text": texts}),
        [("list", "ascending"), ("instant", "ascending"), ("text", "ascending")],
    )
    ends = np.cumsum(np.bincount(lists, minlength=len(collected)))
    return OrderedLists(
        instants.take(order).to_numpy(zero_copy_only=False), texts.take(order).to_pylist(), ends.tolist()
    )


def packed_rows(instants: Longs, texts: Sequence[str]) -> bytes:
    """Pack rows: column by column, and compressed.

    >>> unpacked_rows(packed_rows(np.array([5, 5, 9]), ["a", "", "ü"]), 5, 3)
    [(5, 'a'), (5, ''), (9, 'ü')]
    """
    encoded = [text.encode() for text in texts]
    steps = np.diff(instants.astype("<i8"), prepend=instants[:1].astype("<i8"))
    lengths = np.array([len(text) for text in encoded], "<i4")
    plain = b"".join([_by_significance(steps), _by_significance(lengths), *encoded])
    compressed: bytes = pa.compress(plain, codec=_CODEC, asbytes=True)
    return len(plain).to_bytes(4, "little") + compressed


def unpacked_rows(packed: bytes, first_instant: int, count: int) -> list[Row]:
    """Return rows that were packed, see `packed_rows`; of the instants it knows only how far apart they are."""
    size = int.from_bytes(packed[:4], "little")
    plain = pa.decompress(packed[4:], decompressed_size=size, codec=_CODEC, asbytes=True)
    instants = first_instant + np.cumsum(_of_significance(plain[: 8 * count], "<i8"))
    lengths = _of_significance(plain[8 * count : 12 * count], "<i4")
    ends = 12 * count + np.cumsum(lengths, dtype=np.int64)
    begins = ends - lengths
    texts = [plain[begin:end].decode() for begin, end in zip(begins.tolist(), ends.tolist(), strict=True)]
    return list(zip(instants.tolist(), texts, strict=True))


def _by_significance(numbers: Longs) -> bytes:
    """The least significant bytes of all numbers, then the next, and so on: most of these are 0."""
    return numbers.view(np.uint8).reshape(len(numbers), -1).T.tobytes()


def _of_significance(plain: bytes, kind: str) -> Longs:
    size = np.dtype(kind).itemsize
    turned = np.frombuffer(plain, np.uint8).reshape(size, -1).T
    return np.ascontiguousarray(turned).view(kind).ravel()


def _encoded(plain: bytes) -> str:
    return base64.b64encode(plain).decode("ascii")
