"""New rows against one another and against what is stored: each pair once, whichever row came later."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from streamshed.joins.match.coins import COMPARED, row_draws
from streamshed.joins.match.drawn import mean_weight, passing
from streamshed.joins.match.kernel import NO_PAIRS, Kernel, Pairs, concatenated
from streamshed.joins.model.arrays import Floats, Ints
from streamshed.joins.model.join_windows import LagInterval, merged
from streamshed.joins.model.side import Side
from streamshed.joins.model.side_rows import SideRows
from streamshed.joins.model.specification import JoinSpecification
from streamshed.joins.partition.cell_counter import CellCounter
from streamshed.joins.windows.join_plan import JoinPlan
from streamshed.joins.windows.window_state import WindowState


@dataclass(frozen=True, slots=True)
class TimedPairs:
    """Pairs that join.

    Args:
        places: Of their left and of their right rows.
        times: Of these, microseconds.
    """

    places: Pairs
    times: Pairs


class _Group(NamedTuple):
    """Some rows of a side, in order of time, their places among all of that side, and what they are compared over."""

    rows: SideRows
    places: Ints
    cells: tuple[int, ...]


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
        new: Mapping[Side, SideRows],
        state: WindowState,
    ) -> None:
        self._specification, self._kernel, self._plan, self._state = specification, kernel, plan, state
        self._windows = specification.windows
        self.counter = CellCounter(self._windows)
        self.stored_weight = 1.0
        """For how many rows a stored one of the sampled side stands, on average of those in reach."""
        groups = {side: self._new_groups(side, rows, new[side.opposite].times) for side, rows in new.items()}
        stored = {side: self._stored(side, groups[side.opposite]) for side in Side}
        self.rows: dict[Side, SideRows] = {}
        self._old: dict[Side, _Group] = {}
        self._new: dict[Side, _Group] = {}
        self._groups: dict[Side, list[_Group]] = {}
        self._scales: dict[Side, tuple[float, float]] = {}
        for side, rows in new.items():
            old = stored[side]
            self.rows[side] = SideRows.joined([*old, rows])
            before = len(self.rows[side]) - len(rows)
            self._old[side] = _Group(self.rows[side].part(0, before), np.arange(before), ())
            self._new[side] = _Group(rows, np.arange(before, before + len(rows)), ())
            self._groups[side] = [one._replace(places=before + one.places) for one in groups[side]]
            self._scales[side] = self._scale(side, old), self._scale(side, [rows])

    def pairs(self) -> TimedPairs:
        """Return the pairs that join, by their places in `rows`; to be asked once."""
        products = list(self._products())
        return TimedPairs(
            concatenated([product.places for product in products]),
            concatenated([product.times for product in products]),
        )

    def _products(self) -> Iterator[TimedPairs]:
        """New rows with stored ones, and of two new rows the later one with the earlier."""
        (old_left, new_left), (old_right, new_right) = self._scales[Side.LEFT], self._scales[Side.RIGHT]
        for group in self._groups[Side.LEFT]:
            yield self._product(group, self._old[Side.RIGHT], group.cells, new_left * old_right)
            yield self._product(group, self._new[Side.RIGHT], self._of(Side.RIGHT, group), new_left * new_right)
        for group in self._groups[Side.RIGHT]:
            yield self._product(self._old[Side.LEFT], group, group.cells, old_left * new_right)
            yield self._product(self._new[Side.LEFT], group, self._of(Side.LEFT, group), new_left * new_right)

    def _of(self, side: Side, group: _Group) -> tuple[int, ...]:
        """The cells of a window that rows are compared over: those of earlier rows of its side."""
        side_cells = self._windows.cells_of_side(side)
        return tuple(cell for cell in group.cells if cell in side_cells)

    def _product(self, left: _Group, right: _Group, cells: Sequence[int], scale: float) -> TimedPairs:
        mine, theirs = NO_PAIRS
        if cells and len(left.rows) and len(right.rows):
            mine, theirs = self._kernel(left.rows, right.rows, self._lags(cells))
        pairs = TimedPairs((left.places[mine], right.places[theirs]), (left.rows.times[mine], right.rows.times[theirs]))
        lags = pairs.times[1] - pairs.times[0]
        weights = self._weights(pairs.places)
        self.counter.add(left.rows.times, right.rows.times, cells, lags, weights, scale=scale)
        return pairs

    def _lags(self, cells: Sequence[int]) -> list[LagInterval]:
        return merged([self._windows.cell_intervals[cell] for cell in cells])

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

    def _new_groups(self, side: Side, rows: SideRows, others: Ints) -> list[_Group]:
        """New rows by the cells that they are compared over; those that are compared with nothing are left out."""
        cells = tuple(range(self._windows.cells))
        fractions = self._plan.fractions or (1.0,) * len(cells)
        if min(fractions) >= 1.0:
            return [_Group(rows, np.arange(len(rows)), cells)]
        costs = 1.0 + self._earlier_rows(side.opposite, rows.times, others)
        draws = row_draws(rows.times, salt=COMPARED + side, seed=self._plan.seed, costs=costs)
        groups = []
        for below, share in pairwise(sorted({0.0, *fractions})):
            which = (draws >= below) & (draws < share)
            compared = tuple(cell for cell in cells if fractions[cell] >= share)
            groups.append(_Group(rows.chosen(which), np.flatnonzero(which), compared))
        return groups

    def _earlier_rows(self, side: Side, times: Ints, new: Ints) -> Floats:
        """How many earlier rows of a side are in its window, as seen from some times, as far as the directory tells."""
        since, until = times - self._windows.length(side), times + int(side is Side.LEFT)
        stored = self._state.directory.rows_before(side, np.stack([since, until]))
        earlier_rows: Floats = np.searchsorted(new, until) - np.searchsorted(new, since) + stored[1] - stored[0]
        return earlier_rows

    def _stored(self, side: Side, groups: Sequence[_Group]) -> list[SideRows]:
        """The stored rows of a side that new rows of the other are compared with."""
        stored_rows = self._state.probed(side, [(group.rows.times, self._lags(group.cells)) for group in groups])
        if side is not self._specification.sampled:
            return stored_rows
        self.stored_weight = mean_weight(stored_rows, 0)
        return passing(stored_rows, self._plan.sampling_code)

    def _scale(self, side: Side, several: Sequence[SideRows]) -> float:
        return mean_weight(several, self._plan.sampling_code) if side is self._specification.sampled else 1.0
