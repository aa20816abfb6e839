"""New rows against one another and against what is stored: each pair once, whichever row came later."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from streamshed.joins.arrays import Booleans, Floats, Ints
from streamshed.joins.cell_counter import CellCounter
from streamshed.joins.coins import COMPARED_FULLY, chosen_rows
from streamshed.joins.drawn import mean_weight, passing
from streamshed.joins.join_windows import LagInterval, merged
from streamshed.joins.kernel import Kernel, Pairs, concatenated
from streamshed.joins.plan import JoinPlan
from streamshed.joins.rows import Rows
from streamshed.joins.side import Side
from streamshed.joins.specification import JoinSpecification
from streamshed.joins.window_state import WindowState


@dataclass(frozen=True, slots=True)
class Found:
    """Pairs that join.

    Args:
        places: Of their left and of their right rows.
        times: Of these, microseconds.
    """

    places: Pairs
    times: Pairs


@dataclass(frozen=True, slots=True)
class _Group:
    """Some rows of a side, in order of time, and their places among all of that side; a number: where they begin.

    Args:
        rows: The rows.
        places: Their places.
        scale: For how many rows each stands.
    """

    rows: Rows
    places: Ints | int
    scale: float

    def placed(self, rows: Ints) -> Ints:
        """Return the places of some of them."""
        return rows + self.places if isinstance(self.places, int) else self.places[rows]


class Probe:
    """The comparisons of one micro-batch.

    Args:
        specification: The join.
        kernel: What finds pairs.
        plan: What is compared with what.
        new: New rows per side.
        state: What is stored.
    """

    def __init__(
        self,
        specification: JoinSpecification,
        kernel: Kernel,
        plan: JoinPlan,
        new: Mapping[Side, Rows],
        state: WindowState,
    ) -> None:
        self._specification, self._kernel, self._plan, self._state = specification, kernel, plan, state
        windows = specification.windows
        self.counter = CellCounter(windows)
        self.stored_weight = 1.0
        """For how many rows a stored one of the sampled side stands, on average of those in reach."""
        self._all = windows.cell_intervals
        self._selected = windows.parts(plan.fractions) if plan.fractions is not None else self._all
        full = {side: self._compared_fully(side, rows) for side, rows in new.items()}
        stored = {side: self._stored(side, new[side.opposite], full[side.opposite]) for side in Side}
        self.rows: dict[Side, Rows] = {}
        self._groups: dict[Side, tuple[_Group, _Group, _Group]] = {}
        for side, rows in new.items():
            old = stored[side]
            self.rows[side] = Rows.joined([*old, rows])
            before = len(self.rows[side]) - len(rows)
            of_old, of_new = (self._scale(side, several) for several in (old, [rows]))
            self._groups[side] = (
                _Group(self.rows[side].part(0, before), 0, of_old),
                _group(rows, full[side], before, of_new),
                _group(rows, ~full[side], before, of_new),
            )

    def pairs(self) -> Found:
        """Return the pairs that join, by their places in `rows`; to be asked once."""
        found = list(self._found())
        return Found(concatenated([one.places for one in found]), concatenated([one.times for one in found]))

    def _found(self) -> Iterator[Found]:
        (old_left, full_left, left), (old_right, full_right, right) = self._groups[Side.LEFT], self._groups[Side.RIGHT]
        for mine, theirs in ((full_left, old_right), (old_left, full_right), (full_left, full_right)):
            yield self._product(mine, theirs, self._all)
        yield self._product(full_left, right, self._all_of(Side.RIGHT))
        yield self._product(left, full_right, self._all_of(Side.LEFT))
        for mine, theirs in ((left, old_right), (old_left, right), (left, right)):
            yield self._product(mine, theirs, self._selected)

    def _all_of(self, side: Side) -> list[LagInterval | None]:
        """All lags of one window, those selected of the other: of two new rows the later one decides."""
        whole = self._specification.windows.cells_of_side(side)
        return [self._all[cell] if cell in whole else part for cell, part in enumerate(self._selected)]

    def _product(self, left: _Group, right: _Group, parts: Sequence[LagInterval | None]) -> Found:
        mine, theirs = self._kernel(left.rows, right.rows, merged(parts))
        found = Found((left.placed(mine), right.placed(theirs)), (left.rows.times[mine], right.rows.times[theirs]))
        lags = found.times[1] - found.times[0]
        weights, scale = self._weights(found.places), left.scale * right.scale
        self.counter.add(left.rows.times, right.rows.times, parts, lags, weights, scale=scale)
        return found

    def _weights(self, pairs: Pairs) -> Floats | None:
        weight = self._specification.weight
        if weight is None:
            return None
        tables = [self.rows[side].payload for side in Side]
        if (columns := self._specification.weight_columns) is not None:
            tables = [table.select(list(names)) for table, names in zip(tables, columns, strict=True)]
        lefts, rights = (table.take(pa.array(places)) for table, places in zip(tables, pairs, strict=True))
        worth = np.asarray(weight(lefts, rights), np.float64)
        return np.where(np.isfinite(worth) & (worth > 0), worth, 0.0)

    def _compared_fully(self, side: Side, rows: Rows) -> Booleans:
        share = 0.0 if self._selected == self._all else self._plan.full_share
        return chosen_rows(rows.times, share, salt=COMPARED_FULLY + side, seed=self._plan.seed)

    def _stored(self, side: Side, others: Rows, full: Booleans) -> list[Rows]:
        """The stored rows of a side that new rows of the other are compared with."""
        found = self._state.probed(
            side, [(others.times[full], merged(self._all)), (others.times[~full], merged(self._selected))]
        )
        if side is not self._specification.sampled:
            return found
        self.stored_weight = mean_weight(found, 0)
        return passing(found, self._plan.sampling_code)

    def _scale(self, side: Side, several: Sequence[Rows]) -> float:
        return mean_weight(several, self._plan.sampling_code) if side is self._specification.sampled else 1.0


def _group(rows: Rows, which: Booleans, before: int, scale: float) -> _Group:
    places = before if which.all() else np.flatnonzero(which) + before
    return _Group(rows.chosen(which), places, scale)
