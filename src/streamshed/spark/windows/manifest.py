"""The manifest of a checkpoint: what its state was made for.

Rests on Spark's internals: tests/spark/contracts/test_checkpoint_files.py.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from streamshed.errors import DamagedFileError, IncompatibleCheckpointError
from streamshed.network.model.network import QueryNetwork
from streamshed.network.terms.window import WindowSpecification
from streamshed.sharing.sharing_class import Member
from streamshed.spark.checkpoint.source_places import SourcePlaces
from streamshed.spark.checkpoint.state_layout import StateLayout
from streamshed.spark.checkpoint.storage import Storage
from streamshed.spark.windows.manifest_versions import VERSION, migrated, releases
from streamshed.spark.windows.slice_folding import StateKeys
from streamshed.spark.windows.unseen_windows import WholeSince

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
        retired_at: An event time that no row of it is later than, microseconds; None: it is in use.
        stream: Whose rows it sums up; empty: of a checkpoint that does not say.
    """

    class_id: int
    members: tuple[Member, ...]
    retired_at: int | None = None
    stream: str = ""


@dataclass(frozen=True)
class Manifest:
    """What a checkpoint of one time domain was made for.

    Attributes:
        streams: Name and kind of source of each stream, in the order in which Spark numbers its sources.
        max_depth: How many aggregates may follow one another.
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
        state_settings: How Spark has kept state since: provider, formats and limits; empty: likewise.
    """

    streams: tuple[tuple[str, str], ...]
    max_depth: int
    partitions: int
    layout: StateLayout
    classes: tuple[RememberedClass, ...] = field(default=())
    types: Types = field(default_factory=dict)
    states: StateKeys = field(default_factory=dict)
    whole_since: WholeSince = field(default_factory=dict)
    seen_until: Mapping[str, int] = field(default_factory=dict)
    places: SourcePlaces = field(default_factory=SourcePlaces)
    written_by: Mapping[str, str] = field(default_factory=releases)
    state_settings: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> str:
        """Write the manifest as JSON."""
        return json.dumps(
            {
                "version": VERSION,
                "written_by": dict(self.written_by),
                "state_settings": dict(self.state_settings),
                "streams": self.streams,
                "max_depth": self.max_depth,
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
            state_settings=document["state_settings"],
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


def most_partitions(folder: Storage, clocks: Sequence[str], new: int) -> int:
    """Return how many state partitions the clock has that has most.

    Args:
        folder: The checkpoint of all clocks.
        clocks: Their names.
        new: How many a clock gets that has no checkpoint yet.

    Raises:
        IncompatibleCheckpointError: A manifest cannot be read.
    """
    manifests = [read_manifest(folder.below(clock)) for clock in clocks]
    return max(new if manifest is None else manifest.partitions for manifest in manifests)


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
    return {
        "class_id": remembered.class_id,
        "members": members,
        "retired_at": remembered.retired_at,
        "stream": remembered.stream,
    }


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
    return RememberedClass(document["class_id"], members, document["retired_at"], document.get("stream", ""))
