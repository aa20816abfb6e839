"""Tables of the exactness tests as they arrive at a stream: out of order, some rows late."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

import pyarrow as pa

from streamshed.network.sources import folder
from streamshed.network.stream import Stream, stream
from tests.spark.exactness.tables import EPOCH, SPAN_SECONDS, Tables
from tests.spark.streaming.files import write_parquet

FILES = 6
FILE_SECONDS = SPAN_SECONDS / FILES
WATERMARK_SECONDS = 5
_CLOSING_SECONDS = 3600


@dataclass(frozen=True)
class Arrivals:
    """How the rows of some streams arrive: file k makes micro-batch k.

    Attributes:
        tables: All rows, those that end each file included.
        file_of: Number of the file of each row, by stream and the row's `row`.
        folders: Where the files of each stream are.
    """

    tables: Tables
    file_of: dict[str, dict[int, int]]
    folders: dict[str, Path]


def arrive(tables: Tables, seed: int, path: Path) -> Arrivals:
    """Write the rows of tables into files: most in order, a fifth within the watermark, a tenth beyond it.

    Every file ends with a row at the end of its time, so that all streams have one watermark.
    """
    chance = random.Random(seed)
    streams: dict[str, pa.Table] = {}
    file_of: dict[str, dict[int, int]] = {}
    folders = {name: path / "arriving" / name for name in tables.streams}
    for name, table in tables.streams.items():
        streams[name] = pa.concat_tables([table, _last_rows(table.schema)])
        file_of[name] = _files(streams[name], chance)
        for number, part in _parts(streams[name], file_of[name]).items():
            write_parquet(folders[name] / f"{number}.parquet", part)
    return Arrivals(replace(tables, streams=streams, folders=folders), file_of, folders)


def streams_of(arrivals: Arrivals) -> dict[str, Stream]:
    """The streams over the folders, one file per micro-batch."""
    return {
        name: stream(
            name,
            folder(where, "parquet", max_files_per_micro_batch=1),
            time="ts",
            watermark=f"{WATERMARK_SECONDS} seconds",
        )
        for name, where in arrivals.folders.items()
    }


def write_closing_file(where: Path, schema: pa.Schema) -> None:
    """Add a file with one row so much later that it closes all windows before it."""
    write_parquet(where / f"{FILES}.parquet", _row(schema, -1, EPOCH + timedelta(seconds=_CLOSING_SECONDS)))


def late_watermark(file: int) -> datetime:
    """The watermark against which the rows of a file are late: that of the micro-batch before."""
    if file < 2:
        return datetime.fromtimestamp(0, tz=EPOCH.tzinfo)
    latest = EPOCH + timedelta(seconds=FILE_SECONDS * (file - 1), milliseconds=-1)
    return latest - timedelta(seconds=WATERMARK_SECONDS)


def _files(table: pa.Table, chance: random.Random) -> dict[int, int]:
    found: dict[int, int] = {}
    for number, instant in zip(table["row"].to_pylist(), table["ts"].to_pylist(), strict=True):
        delays = (0.0, chance.uniform(0, WATERMARK_SECONDS), chance.uniform(WATERMARK_SECONDS, 80))
        delay = 0.0 if number >= _FIRST_LAST_ROW else chance.choices(delays, (7, 2, 1))[0]
        arrival = (instant - EPOCH).total_seconds() + delay
        found.setdefault(number, min(int(arrival // FILE_SECONDS), FILES - 1))
    return found


def _parts(table: pa.Table, file_of: dict[int, int]) -> dict[int, pa.Table]:
    files = pa.array([file_of[number] for number in table["row"].to_pylist()])
    return {number: table.filter(pa.compute.equal(files, number)) for number in range(FILES)}


_FIRST_LAST_ROW = 1_000_000


def _last_rows(schema: pa.Schema) -> pa.Table:
    ends = [EPOCH + timedelta(seconds=FILE_SECONDS * (file + 1), microseconds=-1) for file in range(FILES)]
    return pa.concat_tables([_row(schema, _FIRST_LAST_ROW + number, instant) for number, instant in enumerate(ends)])


def _row(schema: pa.Schema, number: int, instant: datetime) -> pa.Table:
    values = {"row": number, "ts": instant}
    return pa.table({field.name: pa.array([values.get(field.name)], field.type) for field in schema})
