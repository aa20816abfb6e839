"""What windows need when shares of them are kept for long, found by deciding on them ahead of time.

Where queries keep different shares, or as few windows as they may, what the rows of all of them come to is not told by
a formula: one must not miss more just when another's gap begins. The decisions themselves tell, made for a while over
time that nobody waits for.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from streamshed.planning.tree.work_tree import Vector
from streamshed.planning.window_drop.choose.tolerant_work import TolerantWork
from streamshed.planning.window_drop.track.decisions import UpcomingWindows, advanced_drops
from streamshed.planning.window_drop.track.droppable import DroppableQuery
from streamshed.planning.window_drop.track.open_windows import MOST_DECIDED, EventTimes
from streamshed.planning.window_drop.track.window_drops import WindowDrops

_STEPS = 8
_LONGEST_GAPS = 10
"""Of so much time is it rehearsed, in gaps of the query that may miss most."""
_REMEMBERED = 64

_Rehearsed = tuple[tuple[WindowDrops, EventTimes], ...]


def rehearsed_needs(work: TolerantWork, kept_shares: Vector) -> Vector:
    """Return which share of the rows that reach a node is needed in the long run.

    Args:
        work: Which queries there are.
        kept_shares: Per demand, the share of its windows that is kept.
    """
    shares = {demand.query: float(share) for demand, share in zip(work.demands, kept_shares.tolist(), strict=True)}
    queries = tuple(work.queries.values())
    rehearsed = _rehearsed(queries, tuple(shares[query.query] for query in queries))
    needs = [work.needs(drops, {query.stream: times for query in queries}) for drops, times in rehearsed]
    return np.asarray(np.mean(needs, axis=0))


@lru_cache(maxsize=_REMEMBERED)
def _rehearsed(queries: tuple[DroppableQuery, ...], kept_shares: tuple[float, ...]) -> _Rehearsed:
    """Decide step by step; the first one, before which nothing was dropped, does not count."""
    by_name = {query.query: query for query in queries}
    shares = dict(zip(by_name, kept_shares, strict=True))
    span = _span(queries)
    longest = max(query.reach.size_microseconds for query in queries)
    upcoming, rehearsals = UpcomingWindows(), []
    for step in range(_STEPS):
        first = step * span
        times = EventTimes(opened=first - longest, carried_since=0, first=first, last=first + span - 1)
        upcoming = UpcomingWindows(event_times={query.stream: times for query in queries}, drops=upcoming.drops)
        upcoming = UpcomingWindows(event_times=upcoming.event_times, drops=advanced_drops(by_name, shares, upcoming))
        rehearsals.append((upcoming.drops, times))
    return tuple(rehearsals[1:])


def _span(queries: Sequence[DroppableQuery]) -> int:
    """How much time is decided on in a step."""
    longest = max((one.gap_windows + 1) * one.window.slide_microseconds for one in queries)
    most = MOST_DECIDED * min(one.window.slide_microseconds for one in queries)
    return max(1, min(math.ceil(_LONGEST_GAPS * longest / _STEPS), most))
