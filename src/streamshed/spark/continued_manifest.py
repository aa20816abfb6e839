"""With which manifest a network goes on from a checkpoint: what may change across a restart, and what may not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b

from streamshed.errors import IncompatibleCheckpointError
from streamshed.network.model.join_source import JoinSource
from streamshed.network.model.network import QueryNetwork, TimeDomain
from streamshed.network.model.stream import Stream
from streamshed.network.source.delta_source import DeltaSource
from streamshed.network.source.iceberg_source import IcebergSource
from streamshed.network.source.kafka_source import KafkaSource
from streamshed.network.source.sources import DataFrameSource, FolderSource, RateSource
from streamshed.network.terms.join_condition import EqualColumns
from streamshed.planning.load.join_delay import delay_of_stream
from streamshed.sharing.sharing_class import SharingClass
from streamshed.spark.checkpoint.state_layout import StateLayout
from streamshed.spark.windows.manifest import NEW_CHECKPOINT, Manifest, RememberedClass, Types
from streamshed.spark.windows.slice_folding import Merging, StateKeys
from streamshed.spark.windows.unseen_windows import ALWAYS, whole_since


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
    present = tuple(RememberedClass(c.class_id, c.members, stream=c.stream) for c in wanted.classes)
    held = wanted.merging.held_states
    domain_queries = [query for query in network.queries if query.stream in domain.streams]
    if before is None:
        since = whole_since(domain_queries, None, {})
        return Manifest(streams, network.depth, wanted.partitions, wanted.layout, present, wanted.types, held, since)
    problems = [
        *_stream_problems(before.streams, streams),
        *_bound_problems(before, network),
        *_family_problems(before.layout, wanted.layout),
        *_type_problems(before.types, wanted.types, network),
        *_state_problems(before.states, wanted.merging.state_keys, network),
    ]
    if problems:
        raise IncompatibleCheckpointError("; ".join(problems))
    stream_names = {**before.seen_until, **wanted.seen_until}
    seen = {name: max(part.seen_until.get(name, ALWAYS) for part in (before, wanted)) for name in stream_names}
    used = {remembered.class_id for remembered in present}
    gone = [remembered for remembered in before.classes if remembered.class_id not in used]
    retired = list(_retired(gone, domain, seen, watermark))
    in_state = {member.definition_id for old in retired for member in old.members}
    types = {number: kinds for number, kinds in before.types.items() if number in in_state}
    in_state |= wanted.types.keys()
    states = {number: keys for number, keys in before.states.items() if number in in_state}
    return Manifest(
        streams,
        before.max_depth,
        before.partitions,
        before.layout,
        (*present, *retired),
        {**types, **wanted.types},
        {**states, **held},
        whole_since(domain_queries, before.whole_since, seen),
        seen,
    )


def _retired(
    gone: Sequence[RememberedClass], domain: TimeDomain, seen: Mapping[str, int], watermark: int
) -> Iterator[RememberedClass]:
    """Yield the classes that are in use no longer, and may be in state.

    A slice is shorter than its windows' slides, and closed once the watermark has passed it, or so much later as rows
    of a stream may come. Late rows have slices that end after the watermark.

    Args:
        gone: Those that are in use no longer.
        domain: The time domain.
        seen: By stream, an event time that no row of them is later than.
        watermark: How far the checkpoint has come.
    """
    delay = max(delay_of_stream(stream) for stream in domain.streams)
    for old in gone:
        latest = [seen[old.stream]] if old.stream in seen else seen.values()
        retired_at = max([watermark, *latest]) if old.retired_at is None else old.retired_at
        longest = max((member.window.size_microseconds for member in old.members), default=0)
        if watermark <= retired_at + 2 * longest + delay:
            yield replace(old, retired_at=retired_at)


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
        case IcebergSource():
            return "iceberg"
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
    return problems


def _family_problems(before: StateLayout, now: StateLayout) -> list[str]:
    return [
        f'the network now needs the state family "{family}", which the checkpoint was not made with: {NEW_CHECKPOINT};'
        f' reserve=["{family}"] at the first start lets such queries come later'
        for family in before.missing(now)
    ]


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
