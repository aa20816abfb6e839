"""What an aggregate of the user's own makes of a window: of its rows in order, or of the states of its pieces."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from streamshed.answering.table.user_methods import UserAggregateError, UserMethods, UserShape, failed
from streamshed.answering.user.collected_rows import MARK, CollectedPiece, Row


@dataclass(frozen=True)
class _State:
    """What was made of all the rows of a piece."""

    state: object


def window_answer(shape: UserShape, user: UserMethods, elements: Sequence[Row]) -> object:
    """Return what `final` returns for a window.

    It is what `incr` over all rows in order comes to. A piece whose rows all come before those that follow in the
    window, and after those before, is not taken apart: its state is merged. Where others come between its rows, as
    those do that came when the slice was folded already, or the piece has no state that this code has made, `incr` is
    given its rows. Where order does not matter, states are merged however pieces lie.

    Args:
        shape: How it is computed.
        user: Its methods.
        elements: The rows and pieces of the window, at least one, in order of instants and texts.

    Raises:
        UserAggregateError: A method failed.
    """
    count = len(elements)
    try:
        pieces = [CollectedPiece.read(row) for row in elements if row[1].startswith(MARK)]
        if not pieces:
            return user.final(user.extended(user.init(), _texts(elements)))
        count += sum(piece.count - 1 for piece in pieces)
        rows = [row for row in elements if not row[1].startswith(MARK)]
        return user.final(_window_state(user, list(_parts(user, rows, pieces))))
    except Exception as error:
        raise failed(shape, error, f"a window of {count} rows") from error


def _window_state(user: UserMethods, parts: Sequence[_State | list[Row]]) -> object:
    first, *others = parts
    state = first.state if isinstance(first, _State) else user.extended(user.init(), _texts(first))
    for part in others:
        state = user.merged(state, part.state) if isinstance(part, _State) else user.extended(state, _texts(part))
    return state


def _parts(user: UserMethods, rows: Sequence[Row], pieces: Sequence[CollectedPiece]) -> Iterator[_State | list[Row]]:
    """Split a window into parts in order of time: every row of a part comes before all rows of the next."""
    stretches: list[tuple[Row, Row, Row | CollectedPiece]] = [(row, row, row) for row in rows]
    stretches += [(piece.first, piece.last, piece) for piece in pieces]
    stretches.sort(key=lambda stretch: stretch[:2])
    together: list[Row | CollectedPiece] = []
    until: Row | None = None
    for first, last, row_or_piece in stretches:
        if until is not None and first < until and not user.merges_in_any_order:
            until = max(until, last)
            together.append(row_or_piece)
            continue
        if together:
            yield _part(user, together)
        together, until = [row_or_piece], last
    yield _part(user, together)


def _part(user: UserMethods, together: Sequence[Row | CollectedPiece]) -> _State | list[Row]:
    """Join rows and pieces whose times interleave; a piece alone may have a state already."""
    if len(together) == 1 and isinstance(together[0], CollectedPiece):
        state = _state_of(user, together[0])
        if state is not None:
            return state
    return sorted(row for one in together for row in (_rows_of(one) if isinstance(one, CollectedPiece) else [one]))


def _rows_of(piece: CollectedPiece) -> list[Row]:
    if not piece.packed:
        raise UserAggregateError("the checkpoint holds states that other code has made, and not their rows")
    return piece.rows()


def _state_of(user: UserMethods, piece: CollectedPiece) -> _State | None:
    pickled = piece.states.get(user.state_key) if user.merges else None
    if pickled is None:
        return None
    try:
        return _State(pickle.loads(pickled))  # noqa: S301 - the user's own, see docs/how-to/secure.md
    except Exception:  # noqa: BLE001 - whatever it was made of is gone; the rows are still there
        return None


def _texts(rows: Sequence[Row]) -> list[str]:
    return [text for _, text in rows]
