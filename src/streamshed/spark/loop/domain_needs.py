"""How a time domain and other networks tell each other what they need."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from streamshed.control.decision import Decision
from streamshed.control.known_needs import KnownNeeds, known_needs
from streamshed.control.loop import ControlLoop
from streamshed.control.own_needs import own_needs
from streamshed.network.model.network import QueryNetwork
from streamshed.network.run.feed import Feed
from streamshed.spark.loop.needs_files import NeedsFile, read_needs

_LIFETIME_TRIGGERS, _LEAST_LIFETIME_SECONDS = 5.0, 60.0
"""What is needed is told with each decision, and holds for so long: who has far too much to do may not decide for long,
and needs no more rows meanwhile."""


@dataclass(frozen=True)
class NeedsSettings:
    """Where needs are told.

    Attributes:
        feeds: Which of the network's queries feed other networks.
        file: Where it is published what is needed of its streams; None: nowhere.
    """

    feeds: tuple[Feed, ...] = ()
    file: NeedsFile | None = None


def _no_growth(_micro_batch_id: int) -> float:
    """Workers are those that there are."""
    return 1.0


class DomainNeeds:
    """What a time domain knows of the needs of those it feeds, and tells of its own.

    Args:
        settings: Where they are told.
        clock: Of the time domain.
        loop: Its control loop.
        growth: Tells of a micro-batch that was decided on how many times faster than those that run as many workers
            would be as load can bring about.
    """

    def __init__(
        self,
        settings: NeedsSettings,
        clock: str,
        loop: ControlLoop,
        growth: Callable[[int], float] = _no_growth,
    ) -> None:
        self._feeds = _feeds_of(loop.network, settings)
        self._file, self._clock, self._loop, self._growth = settings.file, clock, loop, growth
        self._latest_rows: dict[str, int] = {}

    def published(self, now_seconds: float) -> KnownNeeds:
        """Read what the networks that this one feeds have published of their needs."""
        published = {place: read_needs(place) for place in {feed.needs for feed in self._feeds}}
        return known_needs(self._feeds, published, now_seconds)

    def tell(self, decision: Decision) -> None:
        """Publish what is needed of its streams, once the decision is written down."""
        self._latest_rows |= {stream: rows for stream, rows in decision.offered_rows.items() if rows}
        if self._file is None:
            return
        interval = self._loop.settings.trigger_interval_seconds
        needs = own_needs(
            self._loop.network,
            decision,
            self._loop.settings,
            self._loop.state.load_model,
            latest_rows=self._latest_rows,
            lifetime_seconds=max(_LEAST_LIFETIME_SECONDS, _LIFETIME_TRIGGERS * interval),
            growth=self._growth(decision.micro_batch_id),
        )
        self._file.tell(self._clock, needs)


def streams_left_out(network: QueryNetwork, settings: NeedsSettings) -> frozenset[str]:
    """Return the streams whose rows may be left out by their event times, as no network that is fed needs them.

    Args:
        network: The queries of a time domain.
        settings: Which of them feed others.
    """
    return frozenset(network.query(feed.query).stream.name for feed in _feeds_of(network, settings) if feed.same_time)


def _feeds_of(network: QueryNetwork, settings: NeedsSettings) -> tuple[Feed, ...]:
    query_names = {query.name for query in network.queries}
    return tuple(feed for feed in settings.feeds if feed.query in query_names)
