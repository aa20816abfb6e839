"""Windows that are dropped as somebody has decided beforehand, and where: to compare places ([T06] Figures 7 and 9)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum

from streamshed.network.model.network import QueryNetwork
from streamshed.network.terms.window import WindowSpecification
from streamshed.planning.window_drop.track.droppable import droppable_queries
from streamshed.planning.window_drop.track.open_windows import EventTimes, QueryDrops
from streamshed.planning.window_drop.track.window_drops import WindowDrops
from streamshed.planning.window_drop.windows.runs import runs_of
from streamshed.sharing.gating import Gating
from streamshed.sharing.sharing_class import WORD_BITS
from streamshed.spark.admit.retained_rows import RetainedRows


class DropPlace(Enum):
    """Where work for dropped windows ends; its value is the first level of answers at which it does."""

    INPUT = 0
    """Directly behind the source: where `start` drops."""
    SPLIT = 0.5
    """Behind what several queries share."""
    MIDDLE = 1
    """Above the second of nested aggregates."""
    OUTPUT = 2
    """Behind the second."""


@dataclass(frozen=True)
class FixedDrops:
    """Which windows are dropped where.

    Attributes:
        drops: Which.
        place: Where.
    """

    drops: WindowDrops
    place: DropPlace = DropPlace.INPUT

    def retained(self, retained: RetainedRows | None, gating: Gating) -> RetainedRows | None:
        """Return what is done with rows, where the drop is no further down than their aggregates."""
        if retained is None or self.place.value >= 1:
            return None
        if self.place is DropPlace.INPUT:
            return retained
        return _behind_the_split(retained, gating)


def decided_drops(network: QueryNetwork, drop_shares: Sequence[float], stretch: int) -> WindowDrops:
    """Decide on all windows that start from 0 on: of every query that may drop some.

    Args:
        network: The network.
        drop_shares: Which share is dropped, stretch by stretch.
        stretch: How long each is, microseconds.
    """
    queries: dict[str, QueryDrops] = {}
    parts = [part for query in droppable_queries(network.foundation) for part in query.parts.items()]
    for name, part in parts:
        times = EventTimes(opened=0, carried_since=0, first=0, last=0)
        drops = QueryDrops.starting(part.coin, times, part.below)
        if drops is None:
            continue
        for number, drop_share in enumerate(drop_shares):
            coin, dropped = drops.coin.through(_last_before((number + 1) * stretch, part.window), drop_share=drop_share)
            drops = replace(drops, coin=coin, dropped=runs_of([*drops.numbers(), *dropped]))
        queries[name] = drops
    return WindowDrops(queries=queries)


def _last_before(instant: int, window: WindowSpecification) -> int:
    """Number of the last window that starts before an instant."""
    return -(-(instant - window.offset_microseconds) // window.slide_microseconds) - 1


def _behind_the_split(retained: RetainedRows, gating: Gating) -> RetainedRows:
    """Let rows pass to what several intakes ask for."""
    shared = [len(users) > 1 for users in gating.instructions]
    words = [
        sum(1 << bit for bit, is_shared in enumerate(shared[first : first + WORD_BITS]) if is_shared)
        for first in range(0, len(shared), WORD_BITS)
    ]
    opened_words = []
    for of_slot in retained.words:
        classes, gates = of_slot[: len(gating.classes)], of_slot[len(gating.classes) :]
        opened = [gate | (words[index] if index < len(words) else 0) for index, gate in enumerate(gates)]
        opened_words.append((*classes, *opened))
    return replace(retained, words=tuple(opened_words), rates=(1.0,) * len(retained.rates))
