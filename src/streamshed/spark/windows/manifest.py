"""The manifest of a checkpoint: what its state was made for, and what may change across a restart."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Protocol

from streamshed.errors import DamagedFileError, IncompatibleCheckpointError
from streamshed.network.model.delta_source import DeltaSource
from streamshed.network.model.join_source import JoinSource
from streamshed.network.model.kafka_source import KafkaSource
from streamshed.network.model.network import QueryNetwork, TimeDomain
from streamshed.network.model.sources import DataFrameSource, FolderSource, RateSource
from streamshed.network.model.stream import Stream
from streamshed.network.terms.join_condition import EqualColumns
from streamshed.network.terms.window import WindowSpecification
from streamshed.sharing.sharing_class import Member, SharingClass
from streamshed.spark.checkpoint.source_places import SourcePlaces
from streamshed.spark.checkpoint.state_layout import StateLayout
from streamshed.spark.checkpoint.storage import Storage
from streamshed.spark.windows.manifest_versions import VERSION, migrated, releases
from streamshed.spark.windows.slice_folding import Merging, StateKeys
from streamshed.spark.windows.unseen_windows import ALWAYS, WholeSince, whole_since

FILE = "manifest.json"
_WAY_OUT = "put it back, or start with a new checkpoint folder"
NEW_CHECKPOINT = "start with a new checkpoint folder, or run the network as it was"


Types = Mapping[int, Mapping[str, str]]
"""By `Query.definition_id` and what it is the type of."""


class Routed(Protocol):
    """What state rows of a sharing class need to find their queries."""

    @property
    def class_id(self) -> int:
        """The class's number in state."""

    @property
    def members(self) -> tuple[Member, ...]:
        """The queries."""


@dataclass(frozen=True)
class RememberedClass:
    """A sharing class that a checkpoint's state may still hold.

    Attributes:
        class_id: Its number in state.
        members: The queries it served.
        retired_at: Watermark of the restart that no longer had it, microseconds; None: it is in use.
    """

    class_id: int
    members: tuple[Member, ...]
    retired_at: int | None = None


@dataclass(frozen=True)
class Wanted:
    """What a network needs of a checkpoint.

    Attributes:
        layout: What its queries need, and what is reserved.
        partitions: For a new checkpoint; an old one keeps its own.
        classes: Its sharing classes.
        types: Of the keys and values of its queries, and of the answers that it joins.
        merging: Its aggregates of the user's own.
        seen_until: Per stream, an event time that no row is later than that the checkpoint has seen.
    """

    layout: StateLayout
    partitions: int
    classes: Sequence[SharingClass]
    types: Types
    merging: Merging
    seen_until: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Manifest:
    """What a checkpoint of one time domain was made for.

    Attributes:
        streams: Name and kind of source of each stream, in the order in which Spark numbers its sources.
        max_depth: How many aggregates may follow one another.
        joins: Of the network.
        partitions: State partitions per stage.
        layout: What the state holds.
        classes: Sharing classes whose slices it may hold.
        types: Per query in them (`Query.definition_id`), the type that Spark found for each key and value: those of a
            relation's columns are no part of a query's definition.
        states: Per query, those of its aggregates of the user's own of which state may hold what they made of rows, but
            not these; and what their states are told apart by.
        whole_since: Of its queries, and of the aggregates below them, from when on windows are whole; see there.
        seen_until: Per stream, an event time that no row is later than that was read before the last start.
        places: Of Spark's sources, to which it ties offsets.
        written_by: The releases of streamshed and PySpark that started last; empty: of a checkpoint that does not say.
    """

    streams: tuple[tuple[str, str], ...]
    max_depth: int
    joins: bool
    partitions: int
    layout: StateLayout
    classes: tuple[RememberedClass, ...] = field(default=())
    types: Types = field(default_factory=dict)
    states: StateKeys = field(default_factory=dict)
    whole_since: WholeSince = field(default_factory=dict)
    seen_until: Mapping[str, int] = field(default_factory=dict)
    places: SourcePlaces = field(default_factory=SourcePlaces)
    written_by: Mapping[str, str] = field(default_factory=releases)

    def to_json(self) -> str:
        """Write the manifest as JSON."""
        return json.dumps(
            {
                "version": VERSION,
                "written_by": dict(self.written_by),
                "streams": self.streams,
                "max_depth": self.max_depth,
                "joins": self.joins,
                "partitions": self.partitions,
                "layout": self.layout.to_json(),
                "classes": [_class_to_json(remembered) for remembered in self.classes],
                "types": {str(definition_id): dict(found) for definition_id, found in self.types.items()},
                "states": {str(definition_id): dict(keys) for definition_id, keys in self.states.items()},
                "whole_since": {str(definition_id): instant for definition_id, instant in self.whole_since.items()},
                "seen_until": dict(self.seen_until),
                "sources": {"streams": self.places.streams, "lines": self.places.lines},
            },
            indent=1,
        )

    @classmethod
    def from_json(cls, text: str) -> Manifest:
        """Read what `to_json` wrote.

        Raises:
            IncompatibleCheckpointError: It was written by a release that this one cannot read.
        """
        document = migrated(json.loads(text))
        return cls(
            streams=tuple((name, kind) for name, kind in document["streams"]),
            max_depth=document["max_depth"],
            joins=document["joins"],
            partitions=document["partitions"],
            layout=StateLayout.from_json(document["layout"]),
            classes=tuple(_class_from_json(entry) for entry in document["classes"]),
            types={int(definition_id): found for definition_id, found in document["types"].items()},
            states={int(definition_id): keys for definition_id, keys in document["states"].items()},
            whole_since={int(definition_id): instant for definition_id, instant in document["whole_since"].items()},
            seen_until=document["seen_until"],
            places=SourcePlaces(
                streams=tuple(map(tuple, document["sources"]["streams"])), lines=tuple(document["sources"]["lines"])
            ),
            written_by=document["written_by"],
        )


def read_manifest(folder: Storage) -> Manifest | None:
    """Return the manifest of a checkpoint; None for a new one.

    Raises:
        IncompatibleCheckpointError: It is lost or damaged, or was written by a release of another format.
    """
    try:
        text = folder.read_sealed(FILE)
    except DamagedFileError as error:
        raise IncompatibleCheckpointError(f"{error}, or was written by an older release: {_WAY_OUT}") from error
    if text is None:
        if "offsets" in folder.below("spark").names():
            raise IncompatibleCheckpointError(
                f'"{folder.root}/{FILE}" is gone, and nobody knows what the checkpoint was made for: {_WAY_OUT}'
            )
        return None
    return Manifest.from_json(text)


def refuse_other_checkpoint(folder: Storage) -> None:
    """Leave alone what a streaming query that is not ours has written.

    Raises:
        IncompatibleCheckpointError: The folder is such a query's checkpoint.
    """
    if {"offsets", "metadata"} <= {*folder.names()} and FILE not in folder.below("offsets").names():
        raise IncompatibleCheckpointError(
            f'"{folder.root}" is the checkpoint of another streaming query: choose another folder'
        )


def refuse_lost_clocks(folder: Storage, network: QueryNetwork) -> None:
    """See that every time domain of a checkpoint goes on.

    Args:
        folder: The checkpoint of all time domains.
        network: What is to run.

    Raises:
        IncompatibleCheckpointError: Streams of a clock are gone, or have another one.
    """
    clocks = {domain.clock for domain in network.time_domains}
    lost = [name for name in folder.folders() if name not in clocks and FILE in folder.below(name).names()]
    if lost:
        raise IncompatibleCheckpointError(
            f'the checkpoint holds streams of the clock "{lost[0]}", which the network no longer has, but the streams'
            f" of a checkpoint are fixed: {NEW_CHECKPOINT}"
        )


def continued(
    before: Manifest | None, network: QueryNetwork, domain: TimeDomain, wanted: Wanted, *, watermark: int
) -> Manifest:
    """Return the manifest with which a network may go on from a checkpoint, or begin one.

    Queries may come and go. What state and sources are tied to may not.

    Args:
        before: The checkpoint's manifest; None: a new checkpoint.
        network: What is to run.
        domain: Its part in this checkpoint.
        wanted: What it needs.
        watermark: How far the checkpoint has come, microseconds.

    Raises:
        IncompatibleCheckpointError: Listing what cannot be, each with the way out.
    """
    streams = tuple((stream.name, source_kind(stream)) for stream in domain.streams)
    present = tuple(RememberedClass(c.class_id, c.members) for c in wanted.classes)
    held = wanted.merging.held_states
    domain_queries = [query for query in network.queries if query.stream in domain.streams]
    if before is None:
        since = whole_since(domain_queries, None, {})
        return Manifest(
            streams, network.depth, network.joins, wanted.partitions, wanted.layout, present, wanted.types, held, since
        )
    problems = [*_stream_problems(before.streams, streams), *_bound_problems(before, network)]
    problems += [
        f'the network now needs the state family "{family}", which the checkpoint was not made with: {NEW_CHECKPOINT};'
        f' reserve=["{family}"] at the first start lets such queries come later'
        for family in before.layout.missing(wanted.layout)
    ]
    problems += _type_problems(before.types, wanted.types, network)
    problems += _state_problems(before.states, wanted.merging.state_keys, network)
    if problems:
        raise IncompatibleCheckpointError("; ".join(problems))
    seen = {
        name: max(wanted.seen_until.get(name, ALWAYS), before.seen_until.get(name, ALWAYS))
        for name in {**before.seen_until, **wanted.seen_until}
    }
    used = {remembered.class_id for remembered in present}
    retired = tuple(
        RememberedClass(old.class_id, old.members, watermark if old.retired_at is None else old.retired_at)
        for old in before.classes
        if old.class_id not in used and _may_be_in_state(old, watermark)
    )
    in_state = {member.definition_id for old in retired for member in old.members}
    types_in_state = {
        definition_id: types for definition_id, types in before.types.items() if definition_id in in_state
    }
    in_state |= wanted.types.keys()
    states = {definition_id: keys for definition_id, keys in before.states.items() if definition_id in in_state}
    return Manifest(
        streams,
        before.max_depth,
        network.joins,
        before.partitions,
        before.layout,
        (*present, *retired),
        {**types_in_state, **wanted.types},
        {**states, **held},
        whole_since(domain_queries, before.whole_since, seen),
        seen,
    )


def source_kind(stream: Stream) -> str:
    """Name the kind of a stream's source, which Spark's offsets are tied to, and whether windows lie along numbers."""
    kind = _source_kind(stream)
    return f"{kind} with numbers" if stream.is_numbered else kind


def _source_kind(stream: Stream) -> str:
    match stream.source:
        case FolderSource():
            return "folder"
        case DeltaSource():
            return "delta"
        case KafkaSource():
            return "kafka"
        case RateSource():
            return "rate"
        case DataFrameSource():
            return "dataframe"
        case JoinSource() as join:
            spread = () if isinstance(join.condition, EqualColumns) else ("fragments",)
            # What is stored of a join that is sampled are rows that were drawn, with what they drew.
            drawn = (join.shedding.sampled_side,) if join.is_sampled else ()
            definition_text = repr((join.definition, join.basic_microseconds, *spread, *drawn))
            return f"join ({blake2b(definition_text.encode(), digest_size=8).hexdigest()})"


def _stream_problems(before: Sequence[tuple[str, str]], now: Sequence[tuple[str, str]]) -> list[str]:
    old, new = dict(before), dict(now)
    lost = [f'stream "{name}" is gone' for name in old if name not in new]
    come = [f'stream "{name}" is new' for name in new if name not in old]
    changed = [f'stream "{n}" was a {old[n]} and is a {new[n]}' for n in new if n in old and old[n] != new[n]]
    return [f"{problem}, but a checkpoint's streams are fixed: {NEW_CHECKPOINT}" for problem in lost + come + changed]


def _bound_problems(before: Manifest, network: QueryNetwork) -> list[str]:
    problems = []
    if network.depth > before.max_depth:
        deeper = [query.name for query in network.queries if len(query.windows) > before.max_depth]
        why = (
            f'query "{deeper[0]}" has {network.depth} aggregates that follow one another'
            if deeper
            else (f"max_depth is {network.depth}")
        )
        problems.append(
            f"{why}, but the checkpoint was made for {before.max_depth}, which fixes the number of stages:"
            f" {NEW_CHECKPOINT}; max_depth={network.depth} at the first start lets such queries come later"
        )
    if network.joins != before.joins:
        problems.append(f"joins was {before.joins} and is {network.joins}: {NEW_CHECKPOINT}")
    return problems


def _type_problems(before: Types, now: Types, network: QueryNetwork) -> list[str]:
    names = {query.definition_id: query.name for query in (*network.foundation.queries, *network.queries)}
    named = {definition_id: f'query "{name}"' for definition_id, name in names.items()}
    return [
        f"{named.get(definition_id, 'a side of a join')}: {what} was {before[definition_id][what]} and is {new_type},"
        f" as a column of a relation has changed its type: cast it back, e.g. in a map, or {NEW_CHECKPOINT}"
        for definition_id, types in now.items()
        if definition_id in before
        for what, new_type in types.items()
        if before[definition_id].get(what, new_type) != new_type
    ]


def _state_problems(before: StateKeys, now: StateKeys, network: QueryNetwork) -> list[str]:
    names = {slot.definition_id: slot.name for slot in (*network.foundation.queries, *network.queries)}
    return [
        f'query "{names[definition_id]}": the code of {aggregate} has changed, or the Python that compiles it, and the'
        f" checkpoint holds states that it has made, without the rows, as order_matters was false: put the code back,"
        f" give the class another name, or {NEW_CHECKPOINT}"
        for definition_id, keys in before.items()
        if definition_id in names
        for aggregate, key in keys.items()
        if now.get(definition_id, {}).get(aggregate) != key
    ]


def _may_be_in_state(old: RememberedClass, watermark: int) -> bool:
    """A slice is shorter than its windows' slides, and closed once the watermark has passed it."""
    if old.retired_at is None:
        return True
    longest = max((member.window.size_microseconds for member in old.members), default=0)
    return watermark <= old.retired_at + 2 * longest


def _class_to_json(remembered: RememberedClass) -> Mapping[str, Any]:
    members = [
        [
            member.bit,
            member.definition_id,
            member.slot,
            member.window.size_microseconds,
            member.window.slide_microseconds,
            member.window.offset_microseconds,
            member.counts_only,
        ]
        for member in remembered.members
    ]
    return {"class_id": remembered.class_id, "members": members, "retired_at": remembered.retired_at}


def _class_from_json(document: Mapping[str, Any]) -> RememberedClass:
    members = tuple(
        Member(
            bit=bit,
            definition_id=definition_id,
            slot=slot,
            window=WindowSpecification(size, slide, offset),
            counts_only=counts_only,
        )
        for bit, definition_id, slot, size, slide, offset, counts_only in document["members"]
    )
    return RememberedClass(document["class_id"], members, document["retired_at"])
