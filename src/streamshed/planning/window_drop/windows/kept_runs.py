"""When windows are kept of which some may be missed: in runs of time, with gaps between them.

Rows are spared where no query keeps a window. What makes that dear are edges: a window that reaches beyond the others
needs rows for itself. So all queries over a stream begin to keep windows at the same time, where all of them begin one,
each for as long as it takes to keep as many as it should have by then; what is kept lies within the run. A run begins
when one of them may not miss more, or when the others are owed enough. [T06] §3.4 flips a coin for each batch of
windows; what it keeps by chance, this keeps by account: the debt of a query is r·t less the time of the windows that
it kept.

With E the epoch (as short as saves nearly as much as longer ones would, see `droppable`), G the longest time that
windows may be dropped, and p = 1 − r, nothing is kept for X = min(G, E·max(1, p/r)), and then all for about X·r/p.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

ALWAYS = -(2**62)
FOREVER = 2**62

MOST_CELLS = 256
"""Into no more cells is the time cut that is decided on at once, unless event time jumps."""

_MOST_LAID = 4096
_CELLS_OF_EPOCH = 16


@dataclass(frozen=True, slots=True)
class KeptRun:
    """The run in which a query keeps its windows, or the last one, microseconds.

    Attributes:
        begun: Since when.
        until: And until when.
        debt: How much longer windows should have been kept by now.
        laid: Up to when runs are laid.
    """

    begun: int = ALWAYS
    until: int = FOREVER
    debt: float = 0.0
    laid: int = ALWAYS

    def holds(self, instant: int) -> bool:
        """Tell whether an instant lies in it."""
        return self.begun <= instant < self.until

    def paid(self, length: int) -> KeptRun:
        """Return it where windows were kept on top: what was owed is owed no more, beyond that they do not count.

        >>> KeptRun(debt=5.0).paid(3).debt, KeptRun(debt=5.0).paid(9).debt, KeptRun(debt=-2.0).paid(3).debt
        (2.0, 0.0, -2.0)
        """
        return replace(self, debt=max(min(self.debt, 0.0), self.debt - length))


EVERYTHING = KeptRun()
"""A run that never ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Runner:
    """A query whose windows are kept in runs.

    Attributes:
        kept_share: r, in (0, 1]: the share of its windows that it keeps.
        slide: δ, microseconds.
        reach: How much time one of its windows needs.
        gap_windows: B.
        run: What was laid for it.
        decided: Where its first window begins that is not decided on; the debt is of that time.
        offset: Where one of its windows begins.
    """

    kept_share: float
    slide: int
    reach: int
    gap_windows: int
    run: KeptRun
    decided: int = ALWAYS
    offset: int = 0

    def lead(self, instant: int) -> int:
        """Return how long after an instant its first window begins.

        >>> Runner(kept_share=1.0, slide=10, reach=10, gap_windows=8, run=EVERYTHING, offset=3).lead(20)
        3
        """
        return (self.offset - instant) % self.slide

    def longest_gap_at(self, instant: int) -> int:
        """G, where runs begin at such instants: shorter by a slide if none of its windows begins there.

        The last one of a run ends as long before it, as the first one of the next begins after that does.
        """
        shorter = self.longest_gap - self.slide
        return shorter if self.lead(instant) and shorter >= self.slide else self.longest_gap

    @property
    def longest_gap(self) -> int:
        """G: for so long windows may be dropped one after the other; 0: no row can be spared by that."""
        return max(0, (self.gap_windows + 1) * self.slide - self.reach)

    @property
    def spares_rows(self) -> bool:
        """Whether windows that are dropped leave any rows to nobody."""
        return self.longest_gap >= self.slide

    @property
    def overlap(self) -> int:
        """How much of a run goes by without another window: one ends later than the next begins."""
        return self.reach - self.slide


def common_offset(runners: Collection[Runner]) -> int:
    """Return where runs of some queries best begin: where one begins a window, and the others do not long after it.

    >>> early, late = (
    ...     Runner(kept_share=1.0, slide=10, reach=reach, gap_windows=8, run=EVERYTHING, offset=offset)
    ...     for offset, reach in ((0, 10), (2, 20))
    ... )
    >>> common_offset([early, late])
    2
    """
    offsets = sorted({one.offset for one in runners})
    return min(offsets, key=lambda offset: max(one.overlap + one.lead(offset) for one in runners))


@dataclass(frozen=True, slots=True)
class Laid:
    """What is laid for a query.

    Attributes:
        run: The latest run.
        runs: First and last instant of the runs that matter, the last not included.
    """

    run: KeptRun
    runs: tuple[tuple[int, int], ...]

    def holds(self, start: int, end: int) -> bool:
        """Tell whether a window lies within a run."""
        return any(begun <= start and end <= until for begun, until in self.runs)


@dataclass(frozen=True, slots=True)
class RunGrid:
    """Where runs begin and end.

    Attributes:
        cell: How long a cell is, microseconds: runs begin and end between cells.
        epoch: E.
        offset: Where a cell begins.
    """

    cell: int
    epoch: int
    offset: int = 0

    @classmethod
    def of(cls, slides: Sequence[int], epoch: int, *, span: int, longest: int, offset: int = 0) -> RunGrid:
        """Return cells at whose beginnings windows of all slides begin, if these are no longer than an epoch.

        Args:
            slides: Of the queries.
            epoch: E.
            span: How much time is decided on at once.
            longest: No cell is longer.
            offset: Where a window begins.

        >>> RunGrid.of([500, 1000], 2500, span=3000, longest=5000), RunGrid.of([7, 11], 30, span=100, longest=90).cell
        (RunGrid(cell=1000, epoch=2500, offset=0), 30)
        """
        common = math.lcm(*slides)
        cell = min(common, epoch)
        least = max(epoch / _CELLS_OF_EPOCH, span / MOST_CELLS)
        whole = min(cell * max(1, math.ceil(least / cell)), longest)
        return cls(whole, epoch, offset % whole)

    def at(self, instant: int) -> int:
        """Return where the cell begins in which an instant lies."""
        return (instant - self.offset) // self.cell * self.cell + self.offset


def lay_runs(runners: Mapping[str, Runner], grid: RunGrid, first: int, last: int) -> dict[str, Laid]:
    """Lay the runs of a stream's queries up to an instant.

    Args:
        runners: The queries, by any name.
        grid: Where runs begin and end.
        first: The first instant that matters, where nothing was laid before.
        last: The last one.

    Example:
        Of a quarter of the windows that may miss 8 in a row, two are kept after six.

        >>> quarter = Runner(kept_share=0.25, slide=10, reach=10, gap_windows=8, run=KeptRun(until=0, laid=0))
        >>> lay_runs({"q": quarter}, RunGrid(10, 20), 0, 239)["q"].runs[1:]
        ((60, 80), (140, 160), (220, 240))
    """
    latest = max((one.run.laid for one in runners.values()), default=ALWAYS)
    begins = grid.at(first) if latest == ALWAYS else latest
    begins = max(begins, grid.at(last) - _MOST_LAID * grid.cell)
    tracks = {name: _Track(one, grid, begins) for name, one in runners.items()}
    cell = begins
    while cell <= last:
        apart = cell - max((track.until for track in tracks.values()), default=cell)
        if any(track.must_begin(cell) for track in tracks.values()) or (
            apart >= min((track.gap for track in tracks.values()), default=0)
        ):
            following = cell + grid.cell + min((track.gap for track in tracks.values()), default=0)
            for track in tracks.values():
                track.begin(cell, following)
        for track in tracks.values():
            track.go_on(cell)
        cell += grid.cell
    return {name: track.laid(max(cell, latest)) for name, track in tracks.items()}


class _Track:
    """One query on the way through the cells."""

    def __init__(self, runner: Runner, grid: RunGrid, begins: int) -> None:
        self._runner, self._grid = runner, grid
        self._dropped_share = 1 - runner.kept_share
        self._debt = self._debt_at(begins)
        self._run = self._as_it_is_now(begins)
        self._runs = [(self._run.begun, self._run.until)]

    @property
    def until(self) -> int:
        """When its run ends, or the last one did; of one that keeps everything it does not matter."""
        return ALWAYS if self._dropped_share <= 0 else self._run.until

    @property
    def gap(self) -> float:
        """X: for how long nothing is to be kept."""
        if self._dropped_share <= 0:
            return math.inf
        kept_share = self._runner.kept_share
        longest = self._runner.longest_gap_at(self._grid.offset)
        return min(longest, self._grid.epoch * max(1.0, self._dropped_share / kept_share))

    def must_begin(self, cell: float) -> bool:
        """Tell whether no more may be missed by then."""
        following = cell + self._grid.cell
        longest = self._runner.longest_gap if math.isinf(cell) else self._runner.longest_gap_at(int(following))
        return following - self._run.until > longest

    def begin(self, cell: int, following: float) -> None:
        """Begin a run, where none is under way and something is owed, or no more may be missed until the next one."""
        if self._run.holds(cell) or not (self.must_begin(following) or self._debt >= self._grid.cell / 2):
            return
        least = self._grid.cell * -(-(self._runner.lead(cell) + self._runner.reach) // self._grid.cell)
        self._run = KeptRun(cell, cell + max(least, self._length(cell, max(0.0, self._debt))))
        self._runs.append((self._run.begun, self._run.until))

    def go_on(self, cell: int) -> None:
        """Account for a cell."""
        self._debt += self._growth(self._run, cell, self._grid.cell)

    def laid(self, until: int) -> Laid:
        """What was laid; the debt stays as it was: it follows from the windows that are kept."""
        return Laid(replace(self._run, debt=self._runner.run.debt, laid=until), tuple(self._runs))

    def _length(self, begins: int, debt: float) -> int:
        """How long a run has to be that pays a debt, to the nearest cell."""
        idle = self._runner.overlap + self._runner.lead(begins)
        return self._grid.cell * round((debt + idle) / self._dropped_share / self._grid.cell)

    def _debt_at(self, instant: int) -> float:
        """The debt when windows are decided on that begin until then."""
        run, decided = self._runner.run, self._runner.decided
        if run.until == FOREVER or not instant - self._grid.cell <= decided < instant:
            return run.debt
        return run.debt + self._growth(run, decided, instant - decided)

    def _growth(self, run: KeptRun, since: int, length: int) -> float:
        """What comes to the debt in some time."""
        is_kept = run.holds(since) and since + self._runner.lead(since) + self._runner.reach <= run.until
        return length * (self._runner.kept_share - is_kept)

    def _as_it_is_now(self, begins: int) -> KeptRun:
        """The run under way, as long as it should be at the share there is now.

        Its end stays where windows have been dropped already that would reach beyond it.
        """
        run = self._runner.run
        if self._dropped_share <= 0:
            return EVERYTHING
        if run.until == FOREVER:
            return KeptRun(run.begun, begins)
        if run.until - self._runner.overlap <= begins:
            return run
        return replace(run, until=max(begins, self._grid.at(begins + self._length(begins, self._debt))))
