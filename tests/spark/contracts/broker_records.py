"""A stream of records as a broker has them: JSON in a column, and where each lies in others."""

from __future__ import annotations

from pathlib import Path

from streamshed.network.model.declared_stream import stream
from streamshed.network.model.rows import Rows
from streamshed.network.source.sources import folder
from streamshed.network.terms.parsing import parse_json

COLUMNS = "ts timestamp, id bigint"
"""What is in the JSON."""


def broker_records(path: Path, time: str, identity: str | list[str], *, value: str = "binary") -> Rows:
    """The stream `records`.

    Args:
        path: The folder of its files.
        time: The column of event times.
        identity: What identifies a row.
        value: The type of the column of JSON.
    """
    schema = f"value {value}, topic string, partition int, offset bigint, timestamp timestamp"
    source = folder(path, "parquet", schema=schema)
    return stream("records", source, time=time, parse=parse_json("value", COLUMNS), identity=identity)
