"""Which windows of a query are dropped, as far as that still matters: what is decided is never taken back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from streamshed.joins.model.side import Side
from streamshed.network.terms.window import WindowSpecification
from streamshed.planning.window_drop.track.retention import unneeded_times
from streamshed.planning.window_drop.track.side_reach import SideReach, unneeded_of_sides
from streamshed.planning.window_drop.windows.gap_coin import GapCoin, may_abandon
from streamshed.planning.window_drop.windows.kept_runs import EVERYTHING, KeptRun, Laid, Runner
from streamshed.planning.window_drop.windows.provenance import NeededRows, extent
from streamshed.planning.window_drop.windows.runs import Runs, numbers_in, runs_of

MOST_DECIDED = 4096
"""So many windows are decided on at a time: where event time jumps further, those in between are kept."""

ALWAYS = -(2**62)
"""A window before any."""

ALMOST_DONE = 0.1
"""A window of which no more than this share is still to come is not abandoned."""


CLEARLY = 0.1
"""So much p has to rise before windows are abandoned for it: it goes up and down a little with every micro-batch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Backlog:
    """How far the rows of a stream go that wait, microseconds of event time.

    Attributes:
        read_until: The latest of all rows that were read; None: none was.
        coming_until: The latest of the rows that come, as far as one can tell.
        newest: The latest of all that wait, those that come among them.
    """

    read_until: int | None
    coming_until: int
    newest: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EventTimes:
    """What is known of the event times of a stream when a micro-batch is planned, microseconds.

    Attributes:
        opened: The watermark: windows that end no later are answered.
        carried_since: From when on windows without rows are answered, too; None: nobody has been seen yet.
        first: The first that its rows are expected to have.
        last: The last, as far as anything may be decided.
        ahead: So much later than rows come windows begin that they belong to: of a joined stream, whose rows wait for
            others, as long as they wait at most.
        backlog: How far the rows that wait go; None: none are known to wait, or it is a joined stream.
    """

    opened: int
    carried_since: int | None
    first: int
    last: int
    ahead: int = 0
    backlog: Backlog | None = None

    @property
    def decided_until(self) -> int:
        """Windows that begin up to then may need rows that come, and are decided on."""
        return self.last + self.ahead


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryDrops:
    """The windows of a query of which some are dropped.

    Attributes:
        coin: Decides on those to come.
        dropped: Numbers of dropped windows, of those that are open and of as many before as the bound of gaps asks for.
        drop_share: p, as low as it was since windows were last abandoned.
        shut: Those of them that were dropped because the query was shut down.
        is_shut_down: Whether it is.
        below: The windows of the aggregates whose answers it aggregates, the one next to the stream first.
        for_state: Those of them that were dropped as state had to be kept within its limit.
        elsewhere: Those of them that were dropped as nobody needs their answers who is fed by them.
        since: Number of the first window that may be abandoned.
        run: In which it keeps windows, unless it drops by group.
        sides: Of a query over a join, what its windows need of either side.
    """

    coin: GapCoin
    dropped: Runs = ()
    drop_share: float = 0.0
    shut: Runs = ()
    is_shut_down: bool = False
    below: tuple[WindowSpecification, ...] = ()
    for_state: Runs = ()
    elsewhere: Runs = ()
    since: int = ALWAYS
    run: KeptRun = EVERYTHING
    sides: tuple[SideReach, ...] = ()

    @classmethod
    def starting(
        cls,
        coin: GapCoin,
        times: EventTimes,
        below: tuple[WindowSpecification, ...] = (),
        sides: tuple[SideReach, ...] = (),
    ) -> QueryDrops | None:
        """Begin with the first window all of whose rows, and gap, will be seen; None: no event was seen yet."""
        if times.carried_since is None:
            return None
        begins = max(times.carried_since, times.opened)
        return cls(coin=replace(coin, next_window=first_from(coin.window, begins)), below=below, sides=sides)

    def advanced(self, times: EventTimes, *, drop_share: float, for_state: bool = False) -> QueryDrops:
        """Decide on all windows that begin up to the last event time that is expected.

        Where p has clearly risen, the coin of a window that was kept may say drop now: it is abandoned then, if no gap
        becomes too long by it. A window that is answered already is kept, and one of which next to nothing is to come:
        that would save nothing. Where p falls to 0, nothing is owed any more: after a burst answers are whole.

        Args:
            times: Of its stream.
            drop_share: p.
            for_state: Whether p is what it is because of state's limit.
        """
        coin_in_force = replace(self.coin, owed=0) if drop_share <= 0 else self.coin
        coin, abandoned, has_risen = self._until_now(
            times, drop_share, lambda number: self._says_now(number, drop_share)
        )
        owed = replace(coin, owed=coin_in_force.owed)
        decided, more = owed.through(last_until(coin.window, times.decided_until), drop_share=drop_share)
        after = self._with(decided, abandoned | set(more), set(), times.opened, for_state=for_state)
        share = drop_share if has_risen else min(drop_share, self.drop_share)
        return replace(after, drop_share=share, run=EVERYTHING)

    def advanced_in_runs(
        self, times: EventTimes, laid: Laid, *, drop_share: float, for_state: bool = False
    ) -> QueryDrops:
        """Do the same where windows are kept that lie within runs.

        Args:
            times: Of its stream.
            laid: The runs.
            drop_share: p.
            for_state: Whether p is what it is because of state's limit.
        """

        def says_drop(number: int) -> bool:
            start = self._start(number)
            return not laid.holds(start, start + self._reach)

        coin, abandoned, has_risen = self._until_now(times, drop_share, says_drop)
        decided, more = coin.through_runs(last_until(coin.window, times.decided_until), says_drop)
        after = self._with(decided, abandoned | set(more), set(), times.opened, for_state=for_state)
        count = decided.next_window - coin.next_window
        dropped = len(more) + len(abandoned - set(numbers_in(self.dropped)))
        debt = self.run.debt + ((1 - drop_share) * count - (count - dropped)) * coin.window.slide_microseconds
        return replace(
            after,
            drop_share=drop_share if has_risen else min(drop_share, self.drop_share),
            run=replace(laid.run, debt=debt if drop_share > 0 else 0.0),
        )

    def runner(self, kept_share: float) -> Runner:
        """What is asked of its runs.

        Args:
            kept_share: r.
        """
        return Runner(
            kept_share=kept_share,
            slide=self.coin.window.slide_microseconds,
            reach=self._reach,
            gap_windows=self.coin.batch,
            run=self.run,
            decided=self._start(self.coin.next_window),
            offset=self.coin.window.offset_microseconds,
        )

    @property
    def _reach(self) -> int:
        """How much time a window needs from its start on; of nested ones at most."""
        deviation = extent([*self.below, self.coin.window])
        size = self.coin.window.size_microseconds + deviation.beyond - deviation.lead
        return max(size, self.coin.window.slide_microseconds, *(side.size for side in self.sides))

    def _until_now(
        self, times: EventTimes, drop_share: float, says_drop: Callable[[int], bool]
    ) -> tuple[GapCoin, set[int], bool]:
        """The coin before the first window that is still to be decided on, what is dropped by then, and if p has risen.

        Args:
            times: Of its stream.
            drop_share: p.
            says_drop: Whether a window that was kept is to be abandoned.
        """
        dropped = set(numbers_in(self.dropped))
        has_risen = drop_share > self.drop_share + CLEARLY
        if has_risen:
            dropped |= self._abandoned(times, says_drop)
        coin, last = self.coin, last_until(self.coin.window, times.decided_until)
        begins = max(self._first_with_rows_to_come(times), last - MOST_DECIDED + 1)
        if begins > coin.next_window:
            coin = replace(coin, next_window=begins, gap=0)
        return replace(coin, gap=max(coin.gap, gap_before(coin.next_window, dropped))), dropped, has_risen

    def _says_now(self, number: int, drop_share: float) -> bool:
        """Whether the coin says drop of a window of which it said keep."""
        return self.coin.says_drop(number, drop_share) and not self.coin.says_drop(number, self.drop_share)

    def shut_down(self, times: EventTimes, *, for_state: bool = False) -> QueryDrops:
        """Drop all windows that are open or begin up to the last event time that is expected.

        Args:
            times: Of its stream.
            for_state: Whether that is because of state's limit.
        """
        opened = self._first_open(times.opened)
        last = max(last_until(self.coin.window, times.decided_until), self.coin.next_window - 1)
        begins = max(opened, last - MOST_DECIDED + 1)
        if self.is_shut_down:
            begins = max(begins, self.coin.next_window)
        coin = replace(self.coin, next_window=last + 1, gap=self.coin.batch, owed=0)
        before, now = set(numbers_in(self.dropped)), set(range(begins, last + 1))
        after = self._with(coin, before | now, now - before, times.opened, for_state=for_state)
        ends = self._start(last + 1)
        return replace(after, is_shut_down=True, run=KeptRun(ends, ends))

    def dropped_besides(self, times: EventTimes, is_unneeded: Callable[[int], bool]) -> QueryDrops:
        """Drop also those of the windows decided on whose answers nobody needs, as far as no gap becomes too long.

        Args:
            times: Of its stream.
            is_unneeded: Tells it of a window by its start.
        """
        dropped, besides = set(numbers_in(self.dropped)), set[int]()
        first = max(self._first_with_rows_to_come(times), self.coin.next_window - MOST_DECIDED, self.since)
        for number in range(first, self.coin.next_window):
            if is_unneeded(self._start(number)) and may_abandon(dropped, number, self.coin.batch):
                dropped.add(number)
                besides.add(number)
        coin = replace(self.coin, gap=max(self.coin.gap, gap_before(self.coin.next_window, dropped)))
        after = self._with(coin, dropped, set(), times.opened, for_state=False)
        return replace(after, elsewhere=runs_of(sorted(besides | set(numbers_in(after.elsewhere)))))

    def back(self) -> QueryDrops:
        """Let a query that was shut down run again: its next window is kept."""
        return replace(self, is_shut_down=False)

    @property
    def unneeded(self) -> list[NeededRows]:
        """The event times of its stream that belong to dropped windows only: over a join, times of results."""
        return unneeded_times([*self.below, self.coin.window], self.numbers())

    @property
    def unneeded_rows(self) -> list[NeededRows]:
        """The event times of rows that come from outside and belong to dropped windows only, whichever side's."""
        return unneeded_of_sides(self.sides, self.coin.window, self.numbers()) if self.sides else self.unneeded

    def unneeded_of_side(self, side: Side) -> list[NeededRows]:
        """Return the event times of the stream of a join's side that belong to dropped windows only."""
        reach = dict(zip(Side, self.sides, strict=False)).get(side)
        return [] if reach is None else reach.unneeded(self.coin.window, self.numbers())

    def is_dropped(self, number: int) -> bool:
        """Tell whether a window is dropped."""
        return any(first <= number <= last for first, last in self.dropped)

    def is_open_at(self, watermark: int) -> bool:
        """Tell whether any of the dropped windows is open at a watermark."""
        return bool(self.dropped) and self.dropped[-1][1] >= self._first_open(watermark)

    @property
    def last_start(self) -> int | None:
        """When the last dropped window starts, microseconds; None: none is dropped."""
        return self._start(self.dropped[-1][1]) if self.dropped else None

    def numbers(self) -> list[int]:
        """Return the numbers of the dropped windows."""
        return numbers_in(self.dropped)

    def _abandoned(self, times: EventTimes, says_drop: Callable[[int], bool]) -> set[int]:
        coin, dropped = self.coin, set(numbers_in(self.dropped))
        first = max(self._first_with_rows_to_come(times), coin.next_window - MOST_DECIDED, self.since)
        for number in range(first, coin.next_window):
            if says_drop(number) and may_abandon(dropped, number, coin.batch):
                dropped.add(number)
        return dropped

    def _start(self, number: int) -> int:
        return self.coin.window.offset_microseconds + number * self.coin.window.slide_microseconds

    def _first_with_rows_to_come(self, times: EventTimes) -> int:
        """Number of the first window of which enough is still to come for a drop to save anything."""
        least = times.first + round(ALMOST_DONE * self.coin.window.size_microseconds)
        return self._first_open(max(times.opened, least))

    def _first_open(self, watermark: int) -> int:
        """Number of the first window that may not be answered yet: it ends after the watermark, as does what it needs.

        Answers of other aggregates come when their own windows end, later than they are stamped.
        """
        return first_open(self.coin.window, watermark - extent([*self.below, self.coin.window]).beyond)

    def _with(self, coin: GapCoin, dropped: set[int], shut: set[int], opened: int, *, for_state: bool) -> QueryDrops:
        """These windows dropped, some of them as the query is shut down, those that are new because of state or not."""
        oldest = self._first_open(opened) - coin.batch - 1
        new = dropped - set(self.numbers()) if for_state else set()
        before = (set(numbers_in(some)) for some in (self.shut, self.for_state, self.elsewhere))
        of_shut, of_state, elsewhere = before
        window_sets = (dropped, shut | of_shut, new | of_state, elsewhere)
        recent_runs = [runs_of(number for number in some if number >= oldest) for some in window_sets]
        return replace(
            self,
            coin=coin,
            dropped=recent_runs[0],
            shut=recent_runs[1],
            for_state=recent_runs[2],
            elsewhere=recent_runs[3],
        )


def following(part_drops: QueryDrops | None, others: Sequence[QueryDrops]) -> QueryDrops:
    """Go on where other parts of a query have decided so far: it has begun, or ceased, to drop by group.

    The first window of its own is kept, and stays so: whatever gap was before it, it ends there.

    Args:
        part_drops: What it decided itself before that, and may still be open.
        others: Those parts; at least one.
    """
    latest = max(others, key=lambda one: one.coin.next_window)
    begun = replace(
        latest,
        coin=replace(latest.coin, gap=latest.coin.batch, owed=0),
        dropped=(),
        shut=(),
        for_state=(),
        elsewhere=(),
        since=latest.coin.next_window + 1,
    )
    if part_drops is None:
        return begun
    return replace(
        begun,
        dropped=part_drops.dropped,
        shut=part_drops.shut,
        for_state=part_drops.for_state,
        elsewhere=part_drops.elsewhere,
    )


def gap_before(number: int, dropped: set[int]) -> int:
    """How many windows before one are dropped, one after the other."""
    length = 0
    while number - 1 - length in dropped:
        length += 1
    return length


def first_from(window: WindowSpecification, instant: int) -> int:
    """Number of the first window that starts at an instant or later."""
    return -(-(instant - window.offset_microseconds) // window.slide_microseconds)


def last_until(window: WindowSpecification, instant: int) -> int:
    """Number of the last window that starts at an instant or earlier."""
    return (instant - window.offset_microseconds) // window.slide_microseconds


def first_open(window: WindowSpecification, opened: int) -> int:
    """Number of the first window that ends after the watermark."""
    return last_until(window, opened - window.size_microseconds) + 1
