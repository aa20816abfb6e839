"""What a checkpoint holds, clock by clock.

Rests on Spark's internals: tests/spark/contracts/test_checkpoint_files.py.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from streamshed.errors import SourceUnavailableError, StreamshedError
from streamshed.spark.admit.set_aside_limit import deleted_rows
from streamshed.spark.checkpoint.checkpoint_reader import (
    last_begun,
    last_committed,
    query_id,
    settings_of_micro_batch,
    watermark_so_far,
)
from streamshed.spark.checkpoint.storage import Storage
from streamshed.spark.inspection.state_stores import StateOperator, state_operators
from streamshed.spark.windows.manifest import FILE, Manifest, read_manifest

_Result = TypeVar("_Result")
_OUTLINE = ("version", "written_by", "state_settings", "streams", "max_depth", "partitions")
_SETTINGS = "spark.sql.streaming.stateStore."


@dataclass(frozen=True)
class Files:
    """Files of a kind.

    Attributes:
        count: How many.
        size_bytes: Of all of them.
    """

    count: int
    size_bytes: int


@dataclass(frozen=True)
class ClockContents:
    """The checkpoint of a clock.

    Attributes:
        clock: Its name.
        manifest: What it was made for; None: that cannot be read.
        query_id: Spark's.
        begun: The latest micro-batch that Spark has begun; None: none.
        finished: The latest that has finished.
        watermark_microseconds: After it, since 1970; 0: there is none.
        provider: The class that keeps state.
        provider_format: The version of its files; empty: it tells none.
        operators: Stages with state.
        files: By folder, or by name of those that are in none.
        deleted_rows: How many rows that were set aside are gone.
    """

    clock: str
    manifest: Manifest | None
    query_id: str
    begun: int | None
    finished: int | None
    watermark_microseconds: int
    provider: str
    provider_format: str
    operators: tuple[StateOperator, ...]
    files: Mapping[str, Files]
    deleted_rows: int

    @property
    def state_bytes(self) -> int:
        """Size of the state's files."""
        return sum(operator.size_bytes for operator in self.operators)

    def to_json(self) -> dict[str, Any]:
        """Return it as a JSON object; of the manifest what is not about single queries."""
        manifest = None if self.manifest is None else _outline(self.manifest)
        return {
            "clock": self.clock,
            "manifest": manifest,
            "query_id": self.query_id,
            "begun": self.begun,
            "finished": self.finished,
            "watermark_microseconds": self.watermark_microseconds,
            "provider": self.provider,
            "provider_format": self.provider_format,
            "state_bytes": self.state_bytes,
            "operators": [operator.to_json() for operator in self.operators],
            "files": {name: vars(files) for name, files in self.files.items()},
            "deleted_rows": self.deleted_rows,
        }


def clocks_of(checkpoint: Storage) -> list[str]:
    """Return the clocks of a checkpoint.

    Raises:
        SourceUnavailableError: It has none.
    """
    clocks = [name for name in checkpoint.folders() if {FILE, "spark"} & {*checkpoint.below(name).names()}]
    if clocks:
        return clocks
    why = "is there no such folder?"
    if {"offsets", "metadata"} <= {*checkpoint.names()}:
        why = "it is that of another streaming query of Spark, or the folder `spark` of one clock"
    elif checkpoint.names():
        why = "it has no folder of a clock with a manifest.json; name the folder that `start` or `run` was given"
    raise SourceUnavailableError(f'"{checkpoint.root}" is no checkpoint of a network: {why}')


def contents_of(checkpoint: Storage, clock: str) -> ClockContents:
    """Return what the checkpoint of a clock holds; what is damaged in it is as if it were not there.

    Args:
        checkpoint: The folder of all clocks.
        clock: One of `clocks_of`.
    """
    folder = checkpoint.below(clock)
    spark, sizes = folder.below("spark"), folder.sizes()
    begun, no_settings = last_begun(spark), dict[str, str]()
    settings = no_settings if begun is None else _readable(lambda: settings_of_micro_batch(spark, begun), no_settings)
    return ClockContents(
        clock=clock,
        manifest=_readable(lambda: read_manifest(folder), None),
        query_id=_readable(lambda: query_id(spark), ""),
        begun=begun,
        finished=last_committed(spark),
        watermark_microseconds=_readable(lambda: watermark_so_far(spark), 0),
        provider=settings.get(f"{_SETTINGS}providerClass", "").rpartition(".")[2],
        provider_format=settings.get(f"{_SETTINGS}rocksdb.formatVersion", ""),
        operators=_readable(lambda: state_operators(spark), ()),
        files=_files(sizes),
        deleted_rows=_readable(lambda: deleted_rows(folder).rows, 0),
    )


def _outline(manifest: Manifest) -> dict[str, Any]:
    document = json.loads(manifest.to_json())
    return {name: document[name] for name in _OUTLINE} | {
        "families": list(manifest.layout.families),
        "classes": sum(remembered.retired_at is None for remembered in manifest.classes),
        "retired_classes": sum(remembered.retired_at is not None for remembered in manifest.classes),
    }


def _readable(read: Callable[[], _Result], otherwise: _Result) -> _Result:
    try:
        return read()
    except (StreamshedError, ValueError, LookupError, TypeError):
        return otherwise


def _files(sizes: Mapping[str, int]) -> dict[str, Files]:
    by_kind: dict[str, list[int]] = {}
    for name, size_bytes in sizes.items():
        *folders, _ = name.split("/")
        kind = "/".join(folders[: 2 if folders[:1] == ["spark"] else 1]) or name
        by_kind.setdefault(kind, []).append(size_bytes)
    return {kind: Files(len(of_kind), sum(of_kind)) for kind, of_kind in sorted(by_kind.items())}
