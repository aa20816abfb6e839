"""Which windows are dropped, of all queries, and what is remembered of the load for it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from streamshed.network.terms.cohorts import part_of
from streamshed.network.terms.window import WindowSpecification
from streamshed.planning.window_drop.track.open_windows import ALWAYS, QueryDrops
from streamshed.planning.window_drop.track.side_reach import SideReach
from streamshed.planning.window_drop.track.state_limit import Pressure
from streamshed.planning.window_drop.windows.gap_coin import GapCoin
from streamshed.planning.window_drop.windows.kept_runs import EVERYTHING, KeptRun


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowDrops:
    """What is decided on windows, of all queries.

    Attributes:
        queries: By part, see `cohorts.part_name`.
        pressed: How many micro-batches in a row the bounds of gaps left too much to do, all together.
        pressed_seconds: How much more than there was time for; of each at most as much as that time.
        pressed_least_seconds: What that would have taken.
        pressed_utmost_seconds: What there was time for.
        eased: How many in a row had room for all queries that are shut down.
        eased_seconds: How much of that room these would have left, all together.
        pressure: What state asked of queries that tolerate gaps.
        elsewhere: By `Query.definition_id` of queries for rows, event times of which nobody needs any who is fed.
        stale: By `Query.asked_definition_id`, event times whose rows were skipped as too old; see `stale_times`.
    """

    queries: Mapping[str, QueryDrops]
    pressed: int = 0
    pressed_seconds: float = 0.0
    pressed_least_seconds: float = 0.0
    pressed_utmost_seconds: float = 0.0
    eased: int = 0
    eased_seconds: float = 0.0
    pressure: Pressure = Pressure.NONE
    elsewhere: Mapping[int, tuple[tuple[int, int], ...]] = field(default_factory=dict)
    stale: Mapping[int, tuple[tuple[int, int], ...]] = field(default_factory=dict)

    @property
    def missing(self) -> frozenset[int]:
        """`Query.definition_id` of queries that miss windows which may be open."""
        dropping = frozenset(part_of(name)[0] for name, one in self.queries.items() if one.dropped)
        return dropping | self.stale.keys()

    @property
    def last_start(self) -> int | None:
        """When the last dropped window starts, microseconds; None: none is dropped."""
        starts = [start for one in self.queries.values() if (start := one.last_start) is not None]
        return max([*starts, *[intervals[-1][1] - 1 for intervals in self.stale.values()]], default=None)

    @property
    def all_back(self) -> WindowDrops:
        """The same where no query is shut down any more, and state asks nothing of any."""
        queries = {name: one.back() for name, one in self.queries.items()}
        return replace(self, queries=queries, pressure=Pressure.NONE)

    def are_shut_down(self, parts: Collection[str]) -> bool:
        """Tell whether none of some parts keeps windows, until it comes back."""
        return all(part in self.queries and self.queries[part].is_shut_down for part in parts)

    def spare(self, parts: Collection[str], first: int, last: int) -> bool:
        """Tell whether rows of some time belong to dropped windows only, of each of some parts.

        Args:
            parts: By `cohorts.part_name`.
            first: The first event time, microseconds.
            last: The last one.
        """
        decided = [self.queries[part].unneeded_rows for part in parts if part in self.queries]
        spared = [any(rows.start <= first and last < rows.end for rows in unneeded) for unneeded in decided]
        return len(decided) == len(parts) and all(spared)

    def to_document(self) -> dict[str, Any]:
        """Return what JSON can hold."""
        return asdict(self)

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> WindowDrops:
        """Read what JSON kept of `to_document`."""
        queries = {name: _query_drops(entry) for name, entry in document["queries"].items()}
        pressure = Pressure(document.get("pressure", Pressure.NONE))
        elsewhere, stale = (
            {
                int(definition): tuple((start, end) for start, end in entry)
                for definition, entry in document.get(name, {}).items()
            }
            for name in ("elsewhere", "stale")
        )
        return cls(
            queries=queries,
            pressed=document["pressed"],
            pressed_seconds=document.get("pressed_seconds", 0.0),
            pressed_least_seconds=document.get("pressed_least_seconds", 0.0),
            pressed_utmost_seconds=document.get("pressed_utmost_seconds", 0.0),
            eased=document["eased"],
            eased_seconds=document.get("eased_seconds", 0.0),
            pressure=pressure,
            elsewhere=elsewhere,
            stale=stale,
        )


NOTHING_DROPPED = WindowDrops(queries={})


def _query_drops(document: Mapping[str, Any]) -> QueryDrops:
    window = WindowSpecification(**document["coin"]["window"])
    return QueryDrops(
        coin=GapCoin(**{**document["coin"], "window": window}),
        dropped=tuple((first, last) for first, last in document["dropped"]),
        drop_share=document["drop_share"],
        shut=tuple((first, last) for first, last in document["shut"]),
        is_shut_down=document["is_shut_down"],
        below=tuple(WindowSpecification(**window) for window in document["below"]),
        for_state=tuple((first, last) for first, last in document.get("for_state", ())),
        elsewhere=tuple((first, last) for first, last in document.get("elsewhere", ())),
        since=document.get("since", ALWAYS),
        run=KeptRun(**document["run"]) if "run" in document else EVERYTHING,
        sides=tuple(
            SideReach(tuple(WindowSpecification(**window) for window in side["windows"]), side["ahead"])
            for side in document.get("sides", ())
        ),
    )
