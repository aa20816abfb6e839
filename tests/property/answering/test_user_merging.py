"""States of slices merged: always what `incr` over all rows in order comes to, however the rows lie and came."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamshed.answering.table.user_methods import UserAggregateError, UserMethods, UserShape
from streamshed.answering.table.window_partials import WindowPartials
from streamshed.answering.user.collected_rows import CollectedPiece, Row, packed_rows, unpacked_rows
from streamshed.answering.user.user_aggregate import user_answers
from streamshed.answering.user.user_folding import FEWEST_ROWS, Folding, folded
from streamshed.network.terms.function import function_reference

COLLECTED = pa.list_(pa.struct([pa.field("instant", pa.int64()), pa.field("text", pa.string())]))
CLASS, OTHER_CLASS = 7, 8

# Characters that mean something in texts of rows, in keys and in pieces.
texts = st.text(st.sampled_from("\\M1|uN:\x1fé😀ab"), max_size=6)


class InOrder:
    """Values in the order in which they came: what is merged the wrong way round, twice or not at all can be seen."""

    handed: list[str] = []  # noqa: RUF012 - shared on purpose: what all objects were handed

    def init(self) -> list[str]:
        return []

    def incr(self, state: list[str], value: str) -> list[str]:
        self.handed.append(value)
        state.append(value)
        return state

    def merge(self, left: list[str], right: list[str]) -> list[str]:
        left.extend(right)
        return left

    def final(self, state: list[str]) -> str:
        return repr(state)


class WithoutMerge:
    """The same without `merge`."""

    def init(self) -> list[str]:
        return []

    def incr(self, state: list[str], value: str) -> list[str]:
        return [*state, value]

    def final(self, state: list[str]) -> str:
        return repr(state)


class OtherCode(InOrder):
    """Another state for the same rows."""

    def init(self) -> list[str]:
        return ["begun"]


class InAnyOrder(InOrder):
    """How often each value came: whatever the order, the same."""

    order_matters = False

    def final(self, state: list[str]) -> str:
        return repr(sorted(state))


def shape_of(made: type) -> UserShape:
    return UserShape(function_reference(made), ("string",), "string")


@dataclass(frozen=True)
class Partial:
    """Rows of a slice that come in one piece: of one mask or sampling rate, or late together."""

    slice_index: int
    rows: tuple[Row, ...]
    class_id: int = CLASS


@dataclass(frozen=True)
class Stream:
    """Rows in partials, and windows over their slices."""

    slice_length: int
    slices_per_window: int
    partials: tuple[Partial, ...] = field(default=())

    def windows(self) -> list[list[int]]:
        """Indices of the partials in each window that holds any."""
        found = [
            [index for index, one in enumerate(self.partials) if first <= one.slice_index < first + self.size]
            for first in range(1 - self.size, max(one.slice_index for one in self.partials) + 1)
        ]
        return [window for window in found if window]

    @property
    def size(self) -> int:
        return self.slices_per_window


@st.composite
def streams(draw: st.DrawFn) -> Stream:
    length = draw(st.integers(1, 6))
    rows = draw(st.lists(st.tuples(st.integers(0, 30), texts), min_size=1, max_size=60))
    # Most slices are in one piece; of some, rows are of several masks, or came when the others were folded.
    split = draw(st.sets(st.integers(0, 30), max_size=3))
    parts: dict[tuple[int, int], list[Row]] = {}
    for row in rows:
        index = row[0] // length
        part = draw(st.integers(0, 2)) if index in split else 0
        parts.setdefault((index, part), []).append(row)
    partials = [
        Partial(index, tuple(own), draw(st.sampled_from([CLASS, CLASS, CLASS, OTHER_CLASS])))
        for (index, _), own in parts.items()
    ]
    return Stream(length, draw(st.integers(1, 5)), tuple(draw(st.permutations(partials))))


def lists_of(rows: Sequence[Sequence[Row]]) -> pa.Array:
    return pa.array([[{"instant": instant, "text": escaped(text)} for instant, text in own] for own in rows], COLLECTED)


def escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\x1f", "\\u")


def answered(made: type, windows: Sequence[Sequence[Sequence[dict[str, object]]]]) -> list[str]:
    """What an aggregate answers over windows, each some partials after the other, as Spark flattens them."""
    collected = pa.array([[row for own in window for row in own] for window in windows], COLLECTED)
    partials = WindowPartials(pa.RecordBatch.from_arrays([collected], names=["collected"]))
    found: list[str] = user_answers(shape_of(made), partials).texts.to_pylist()
    return found


def folded_by(made: Sequence[type], stream: Stream, *, keeps_rows: bool = True) -> list[list[dict[str, object]]]:
    ids = pa.array([one.class_id for one in stream.partials], pa.int64())
    shapes = tuple(shape_of(one) for one in made)
    found: list[list[dict[str, object]]] = folded(
        {CLASS: Folding(shapes, keeps_rows=keeps_rows)}, ids, lists_of([one.rows for one in stream.partials])
    ).to_pylist()
    return found


def in_order(stream: Stream, window: Sequence[int]) -> str:
    rows = sorted((instant, escaped(text), text) for index in window for instant, text in stream.partials[index].rows)
    return repr([text for *_, text in rows])


@given(streams())
def test_merged_states_are_what_rows_in_order_come_to(stream: Stream) -> None:
    lists = folded_by([InOrder], stream)
    windows = stream.windows()
    expected = [in_order(stream, window) for window in windows]
    held = [[lists[index] for index in window] for window in windows]
    assert answered(InOrder, held) == expected
    # Of those who cannot merge, or have made no such states, the rows are there.
    assert answered(WithoutMerge, held) == expected
    assert answered(OtherCode, held) == [f"['begun', {one[1:]}" for one in expected]


@given(streams())
def test_a_piece_serves_all_aggregates_of_its_class(stream: Stream) -> None:
    lists = folded_by([InOrder, OtherCode], stream)
    windows = stream.windows()
    expected = [in_order(stream, window) for window in windows]
    held = [[lists[index] for index in window] for window in windows]
    assert answered(InOrder, held) == expected
    assert answered(WithoutMerge, held) == expected


@given(streams())
def test_where_order_does_not_matter_no_row_is_kept(stream: Stream) -> None:
    lists = folded_by([InAnyOrder], stream, keeps_rows=False)
    windows = stream.windows()
    expected = [repr(sorted(ast.literal_eval(in_order(stream, window)))) for window in windows]
    held = [[lists[index] for index in window] for window in windows]
    assert answered(InAnyOrder, held) == expected
    for one, rows in zip(stream.partials, lists, strict=True):
        is_folded = one.class_id == CLASS and len(one.rows) >= FEWEST_ROWS
        assert len(rows) == (1 if is_folded else len(one.rows))
        if is_folded:
            text = str(rows[0]["text"])
            instant = rows[0]["instant"]
            assert isinstance(instant, int)
            assert not CollectedPiece.read((instant, text)).packed
            with pytest.raises(UserAggregateError, match="states that other code has made, and not their rows"):
                answered(WithoutMerge, [[rows]])


@given(
    st.lists(st.lists(st.tuples(st.integers(0, 9), texts), min_size=4, max_size=9), min_size=1, max_size=8),
    st.integers(1, 5),
)
def test_a_row_is_handed_to_incr_once_however_many_windows_hold_it(slices: list[list[Row]], size: int) -> None:
    whole = Stream(
        10,
        size,
        tuple(
            Partial(index, tuple((10 * index + instant, text) for instant, text in rows))
            for index, rows in enumerate(slices)
        ),
    )
    InOrder.handed.clear()
    lists = folded_by([InOrder], whole)
    windows = whole.windows()
    assert answered(InOrder, [[lists[index] for index in window] for window in windows]) == [
        in_order(whole, window) for window in windows
    ]
    assert sorted(InOrder.handed) == sorted(text for rows in slices for _, text in rows)


@given(st.lists(st.tuples(st.integers(-(2**62), 2**62), texts), min_size=1))
def test_packed_rows_are_unpacked_as_they_were(rows: list[Row]) -> None:
    rows = sorted(rows)
    instants = pa.array([instant for instant, _ in rows], pa.int64()).to_numpy()
    assert unpacked_rows(packed_rows(instants, [text for _, text in rows]), rows[0][0], len(rows)) == rows


def test_states_are_told_apart_by_what_makes_them() -> None:
    keys = {UserMethods(shape_of(one)).state_key for one in (InOrder, OtherCode, WithoutMerge)}
    assert len(keys) == 3
    assert UserMethods(shape_of(InOrder)).state_key == UserMethods(shape_of(InOrder)).state_key
    assert UserMethods(UserShape(function_reference(InOrder), ("int",), "string")).state_key not in keys
