"""The recorded streams of the benchmark `coverage`, what is asked of them, and the true answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import QueryNetwork, network
from streamshed.network.source.sources import folder
from streamshed_bench.inputs.recordings import recording_file


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """A recorded stream, and a query about it.

    Args:
        name: Of its folder and of the file in it.
        columns: The columns that are read.
        condition: Which rows are taken.
        size_seconds: Of windows.
        slide_seconds: How far apart they start.
        aggregates: SQL by name.
        key: SQL of the key; None: there are no groups.
    """

    name: str
    columns: str
    condition: str
    size_seconds: int
    slide_seconds: int
    aggregates: Mapping[str, str]
    key: str | None = None

    def file(self, recordings: Path) -> Path:
        """Return where the recording is, in a folder of recordings."""
        return recording_file(recordings, self.name)


RECORDINGS: tuple[Recording, ...] = (
    Recording(
        name="packets",
        columns="ts timestamp, size int, proto smallint",
        condition="proto = 6",
        size_seconds=60,
        slide_seconds=10,
        aggregates={"n": "count(*)", "bytes": "sum(size)", "mean": "avg(size)", "spread": "stddev(size)"},
    ),
    Recording(
        name="fares",
        columns="ts timestamp, tip_amount double, tolls_amount double, total_amount double",
        condition="total_amount > 0",
        size_seconds=7200,
        slide_seconds=3600,
        aggregates={
            "n": "count(*)",
            "tolls": "sum(tolls_amount)",
            "total": "sum(total_amount)",
            "tip": "avg(tip_amount)",
            "spread": "stddev(total_amount)",
        },
    ),
    Recording(
        name="wiki_edits",
        columns="ts timestamp, namespace string, added bigint",
        condition="added >= 0",
        size_seconds=7200,
        slide_seconds=1200,
        aggregates={"n": "count(*)", "added": "sum(added)", "mean": "avg(added)"},
        key="namespace",
    ),
    Recording(
        name="net_events",
        columns="ts timestamp, log string",
        condition="log IS NOT NULL",
        size_seconds=60,
        slide_seconds=10,
        aggregates={"n": "count(*)"},
        key="log",
    ),
)


Place = tuple[str, str, int]
"""Aggregate, group, and the second at which the window starts."""


def asked_of(recording: Recording, watched: Path, name: str) -> QueryNetwork:
    """Ask the query of a folder that holds the recording.

    Args:
        recording: The recording.
        watched: The folder.
        name: Of the stream: rows of streams of different names are sampled independently.
    """
    rows = stream(name, folder(str(watched), "parquet", schema=recording.columns), time="ts", watermark="1 second")
    windows = rows.filter(recording.condition).window(
        f"{recording.size_seconds} seconds", every=f"{recording.slide_seconds} seconds"
    )
    if recording.key is not None:
        windows = windows.by(group=recording.key)
    return network(windows.agg(**recording.aggregates).query("asked"))


def true_answers(recording: Recording, recordings: Path) -> dict[Place, float]:
    """Answer the query over all rows, by DuckDB."""
    import duckdb

    slide, size = recording.slide_seconds, recording.size_seconds
    aggregates = ", ".join(f"CAST({sql} AS DOUBLE)" for sql in recording.aggregates.values())
    key = "''" if recording.key is None else recording.key
    latest = f"CAST(floor(epoch(ts) / {slide}) AS BIGINT) * {slide}"
    rows = duckdb.execute(
        f"WITH rows AS (SELECT *, {latest} AS latest FROM '{recording.file(recordings)}' WHERE {recording.condition})"
        f" SELECT start, {key}, {aggregates} FROM (SELECT *, unnest(generate_series(latest - {size - slide}, latest,"
        f" {slide})) AS start FROM rows) GROUP BY ALL"
    ).fetchall()
    return {
        (name, str(group), int(start)): value
        for start, group, *values in rows
        for name, value in zip(recording.aggregates, values, strict=True)
        if value is not None
    }
