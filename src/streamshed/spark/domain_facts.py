"""What planning for a time domain depends on and never changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Self, TypeVar

from streamshed.network.model.network import QueryNetwork
from streamshed.network.model.stream import Stream
from streamshed.planning.load.join_delay import delay_of_stream
from streamshed.planning.window_drop.track.droppable import droppable_queries, tolerant_parts
from streamshed.sharing.intake import Intake
from streamshed.spark.windows.manifest import Routed
from streamshed.spark.windows.unseen_windows import QueryBeginning, beginnings

if TYPE_CHECKING:
    from streamshed.control.loop import ControlLoop
    from streamshed.spark.domain_draft import DomainDraft
    from streamshed.spark.windows.manifest import Manifest

_Number = TypeVar("_Number", int, float)


@dataclass(frozen=True)
class DomainFacts:
    """What planning for a time domain depends on and never changes.

    Attributes:
        streams: Its streams, in order.
        intakes: Per stream, where its rows are taken in.
        longest_window: Of its queries, microseconds.
        trigger_interval_seconds: How often a micro-batch should start.
        queried_streams: The streams that queries ask for, which are those that the control loop knows; None: all.
        beginnings: Of queries that came later than the checkpoint, by `Query.definition_id`.
        tolerant_parts: By stream, what may drop windows, see `droppable.tolerant_parts`.
    """

    streams: tuple[Stream, ...]
    intakes: Mapping[str, Sequence[Intake]]
    longest_window: int
    trigger_interval_seconds: float
    queried_streams: tuple[str, ...] | None = None
    beginnings: Mapping[int, QueryBeginning] = field(default_factory=dict)
    tolerant_parts: Mapping[str, frozenset[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, draft: DomainDraft, manifest: Manifest, loop: ControlLoop, trigger_interval_seconds: float) -> Self:
        """Return those of a time domain.

        Args:
            draft: What Spark makes of it.
            manifest: Of its checkpoint.
            loop: Its control loop.
            trigger_interval_seconds: How often a micro-batch should start.
        """
        return cls(
            streams=draft.domain.streams,
            intakes={name: work.intakes for name, work in draft.works.items()},
            longest_window=longest_window(draft.network, manifest.classes),
            trigger_interval_seconds=trigger_interval_seconds,
            queried_streams=tuple(stream.name for stream in loop.network.streams),
            beginnings=beginnings(draft.network.queries, manifest.whole_since),
            tolerant_parts=tolerant_parts(droppable_queries(draft.of_domain)),
        )

    @property
    def sources(self) -> tuple[Stream, ...]:
        """Those whose rows come from outside."""
        return tuple(stream for stream in self.streams if stream.joined is None)

    def whole_since(self, watermark: int) -> dict[int, int]:
        """Return from when on windows are whole of queries that came lately, by `Query.definition_id`.

        Args:
            watermark: Of the micro-batch before, microseconds; none of their other windows is open later.
        """
        return {
            definition: beginning.since
            for definition, beginning in self.beginnings.items()
            if beginning.closed_at > watermark
        }

    def of_asked(
        self, by_source: Mapping[str, _Number], shares: Mapping[str, _Number] = MappingProxyType({})
    ) -> dict[str, _Number]:
        """Return a number per queried stream; a joined stream has the sum of its two sides.

        Args:
            by_source: The number of each source.
            shares: By joined stream, the share of its sum that counts; 1 where it is left out.
        """
        by_stream = dict(by_source)
        for stream in self.streams:
            if stream.joined is not None:
                sides = {side.stream.name for side in (stream.joined.left, stream.joined.right)}
                if sides <= by_source.keys():
                    of_sides = sum((by_source[name] for name in sides), type(next(iter(by_source.values())))())
                    by_stream[stream.name] = of_sides * shares.get(stream.name, type(of_sides)(1))
        return (
            by_stream
            if self.queried_streams is None
            else {name: by_stream[name] for name in self.queried_streams if name in by_stream}
        )

    def of_those_asked(self, by_stream: Mapping[str, float]) -> dict[str, float]:
        """Return the numbers of queried streams."""
        return {
            name: value
            for name, value in by_stream.items()
            if self.queried_streams is None or name in self.queried_streams
        }


def longest_window(network: QueryNetwork, classes: Sequence[Routed]) -> int:
    """Return how far back in time anything reaches that is computed of rows, microseconds.

    Args:
        network: Its queries; windows of so many rows have no length in time.
        classes: Whose slices may be in state.
    """
    sizes = [member.window.size_microseconds for one in classes for member in one.members]
    for query in network.queries:
        if not query.is_by_count:
            of_windows = sum(window.size_microseconds for window in query.windows)
            sizes.append(of_windows + delay_of_stream(query.stream))
    return max(sizes, default=1_000_000)
