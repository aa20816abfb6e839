"""Decisions on the windows that a micro-batch may bring, query by query."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from streamshed.network.terms.cohorts import part_of
from streamshed.planning.window_drop.track.droppable import DroppableQuery
from streamshed.planning.window_drop.track.not_needed import Times, without_unneeded
from streamshed.planning.window_drop.track.open_windows import EventTimes, QueryDrops, following
from streamshed.planning.window_drop.track.riders import with_riders
from streamshed.planning.window_drop.track.run_needs import have_one_share
from streamshed.planning.window_drop.track.state_limit import NOTHING_HELD, Pressure, StateUse
from streamshed.planning.window_drop.track.window_drops import NOTHING_DROPPED, WindowDrops
from streamshed.planning.window_drop.windows.kept_runs import RunGrid, common_offset, lay_runs

_ALWAYS = -(2**62)


@dataclass(frozen=True, slots=True, kw_only=True)
class UpcomingWindows:
    """What is known of windows when a micro-batch is planned.

    Attributes:
        event_times: By stream.
        drops: What was decided before.
        steady_seconds: What the work on the coming rows may take in the long run, however long the micro-batch that
            is planned may take; None: nothing is known of that.
        utmost_seconds: The same where no headroom is left: who cannot last within it is shut down. None: as
            `steady_seconds`.
        interval_seconds: How long the coming rows took to come, at least a trigger interval; None: nothing is known of
            that.
        reading_seconds: By stream of which blocks are left unread where no windows are kept, what reading them takes
            per share of the rows that windows need; see `reading_factors_of_windows`.
        state: How much memory state takes, and may take.
        unneeded: By `DroppableQuery.definition_id`, when windows start of which nobody needs the answer who is fed.
        state_entries: By query, about how many groups it holds in state; see `state_entries`.
    """

    event_times: Mapping[str, EventTimes] = field(default_factory=dict)
    drops: WindowDrops = NOTHING_DROPPED
    steady_seconds: float | None = None
    utmost_seconds: float | None = None
    interval_seconds: float | None = None
    reading_seconds: Mapping[str, float] = field(default_factory=dict)
    state: StateUse = NOTHING_HELD
    state_entries: Mapping[str, float] = field(default_factory=dict)
    unneeded: Mapping[int, Times] = field(default_factory=dict)

    @property
    def pressure(self) -> Pressure:
        """What state asks of queries that tolerate gaps."""
        return self.state.pressure(self.drops.pressure)

    def seconds_for(self, queries: Iterable[DroppableQuery], budget_seconds: float) -> float:
        """Return what may be filled with work while windows are chosen.

        Where epochs are longer than micro-batches, an epoch that is kept makes these late, and a dropped one lets them
        catch up: then the time in the long run counts. So it does alone where windows cost reading, too. Otherwise the
        time of the micro-batch counts; so it does where gaps are by group, as every epoch drops equally many cohorts.
        """
        if self.steady_seconds is None:
            return budget_seconds
        if self.reading_seconds:
            return self.steady_seconds
        spans = [
            (query.epoch, times.last + 1 - times.first)
            for query in queries
            if (times := self.event_times.get(query.stream)) is not None and not query.is_by_group
        ]
        are_short = all(2 * epoch <= span for epoch, span in spans)
        return budget_seconds if are_short else max(budget_seconds, self.steady_seconds)


def advanced_drops(
    queries: Mapping[str, DroppableQuery], kept_shares: Mapping[str, float], upcoming: UpcomingWindows
) -> WindowDrops:
    """Decide on the windows that a micro-batch may bring.

    Args:
        queries: Those whose windows may be dropped, by name.
        kept_shares: By query, which share of its windows it keeps at least: those that cost no rows come on top. 0: it
            is shut down. Of queries with one definition, the largest.
        upcoming: What is known, and was decided before.
    """
    of_definition: dict[int, float] = {}
    for name, share in kept_shares.items():
        definition = queries[name].definition_id
        of_definition[definition] = max(share, of_definition.get(definition, 0.0))
    parts = {name: part for query in queries.values() for name, part in query.parts.items()}
    decided = _kept_in_mind(upcoming, parts)
    decided_before = dict(decided)
    running: dict[str, dict[str, _Running]] = {}
    for name, part in parts.items():
        times = upcoming.event_times.get(part.stream)
        if times is None or part.definition_id not in of_definition:
            continue
        before = _begun(part, _known_of(name, part, decided_before), times)
        if before is None:
            continue
        kept_share = of_definition[part.definition_id]
        for_state = upcoming.drops.pressure is not Pressure.NONE
        if kept_share <= 0:
            decided[name] = before.shut_down(times, for_state=for_state)
        elif not part.is_by_group and before.runner(kept_share).spares_rows:
            running.setdefault(part.stream, {})[name] = _Running(part, before.back(), kept_share)
        else:
            decided[name] = before.back().advanced(times, drop_share=1 - kept_share, for_state=for_state)
    for stream, members in running.items():
        decide = _in_runs if _are_alike(members.values()) else _by_coins
        decided |= decide(members, upcoming.event_times[stream], upcoming.drops.pressure)
    if upcoming.drops.pressure is Pressure.NONE:
        decided = with_riders(parts, upcoming.drops.queries, decided)
    if upcoming.unneeded:
        decided = without_unneeded(parts, decided, upcoming.unneeded, upcoming.event_times)
    return replace(upcoming.drops, queries=decided)


@dataclass(frozen=True, slots=True)
class _Running:
    """A query by window that is not shut down, what was decided of it, and the share of its windows that it keeps."""

    query: DroppableQuery
    before: QueryDrops
    kept_share: float


def _are_alike(members: Iterable[_Running]) -> bool:
    """Whether queries have common runs: those over the same rows which keep the same share carry each other.

    Others would have to end their runs apart, and what one is owed while the other's goes on makes its next one longer.
    """
    together = list(members)
    return len({one.query.work for one in together}) == 1 and have_one_share([one.kept_share for one in together])


def _by_coins(members: Mapping[str, _Running], times: EventTimes, pressure: Pressure) -> dict[str, QueryDrops]:
    return {
        name: member.before.advanced(times, drop_share=1 - member.kept_share, for_state=pressure is not Pressure.NONE)
        for name, member in members.items()
    }


def _in_runs(members: Mapping[str, _Running], times: EventTimes, pressure: Pressure) -> dict[str, QueryDrops]:
    """Decide on the windows of all queries of a stream that miss whole windows, together."""
    first = next(iter(members.values())).query
    runners = {name: member.before.runner(member.kept_share) for name, member in members.items()}
    grid = RunGrid.of(
        [member.slide for member in runners.values()],
        first.epoch,
        span=times.last + 1 - times.first,
        longest=min(member.longest_gap for member in runners.values()),
        offset=common_offset(runners.values()),
    )
    laid = lay_runs(runners, grid, times.first, times.decided_until)
    return {
        name: member.before.advanced_in_runs(
            times, laid[name], drop_share=1 - member.kept_share, for_state=pressure is not Pressure.NONE
        )
        for name, member in members.items()
    }


def still_dropped(upcoming: UpcomingWindows) -> WindowDrops:
    """Drop nothing more: what was dropped stays so as long as its windows may be open, for their rows are gone.

    Args:
        upcoming: What was decided before. None of its queries may drop windows now: they tolerate gaps no more, have
            left, or the policy drops none.
    """
    return WindowDrops(queries=_kept_in_mind(upcoming, {}))


def _kept_in_mind(upcoming: UpcomingWindows, parts: Mapping[str, DroppableQuery]) -> dict[str, QueryDrops]:
    """The decisions so far; those of parts that are gone as long as windows of theirs may be open."""
    opened = min((times.opened for times in upcoming.event_times.values()), default=None)
    return {
        part: drops
        for part, drops in upcoming.drops.queries.items()
        if part in parts or opened is None or drops.is_open_at(opened)
    }


def _known_of(name: str, part: DroppableQuery, decided: Mapping[str, QueryDrops]) -> QueryDrops | None:
    """The decisions on a part's windows, or later ones on other parts of the query."""
    part_drops = decided.get(name)
    until = _ALWAYS if part_drops is None else part_drops.coin.next_window
    others = [
        drops
        for other, drops in decided.items()
        if other != name and part_of(other)[0] == part.definition_id and drops.coin.next_window > until
    ]
    return following(part_drops, others) if others else part_drops


def _begun(query: DroppableQuery, before: QueryDrops | None, times: EventTimes) -> QueryDrops | None:
    if before is None:
        return QueryDrops.starting(query.coin, times, query.below, query.sides)
    return _as_asked_now(before, query)


def _as_asked_now(before: QueryDrops, query: DroppableQuery) -> QueryDrops:
    """What was decided stays; what is still to be decided follows the query as it is now."""
    coin = query.coin
    return replace(
        before, coin=replace(before.coin, batch=coin.batch, epoch=coin.epoch, seed=coin.seed, turn=coin.turn)
    )
