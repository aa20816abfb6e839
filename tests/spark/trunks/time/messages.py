"""The same lines as a broker delivers them, in a DataFrame of the user's: binary, with topic, partition and offset."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession

from streamshed.network.model.declared_stream import stream
from streamshed.network.model.rows import Rows
from streamshed.network.terms.parsing import parse_csv, parse_json
from tests.spark.sessions import session_for_tests
from tests.spark.trunks.inputs import Input
from tests.spark.trunks.time.steps import STEP_SECONDS
from tests.spark.trunks.time.texts import PLACE, SCHEMA, TIMED, bytes_of, lines_of

BROKER = {**TIMED, "identity": ["topic", "partition", "offset"]}


def session() -> SparkSession:
    """The session that there is; a process that only checks what another did has none yet."""
    try:
        return SparkSession.active()
    except PySparkRuntimeError:
        return session_for_tests()


class FrameInput(Input):
    """Rows that come as a DataFrame over files."""

    def stream(self, path: Path) -> Rows:
        """The stream over the DataFrame."""
        reader = session().readStream.schema(self.schema or "").option("maxFilesPerTrigger", 1)
        return stream(self.name, reader.parquet(str(self._folder(path))), **self.settings)


def _messages(kind: str) -> list[pa.Table]:
    """Those of all steps; after the ones that cannot be read comes one without text."""
    return [_as_messages(rows["line"].to_pylist()) for rows in lines_of(kind, twice=False)]


def _as_messages(lines: list[str]) -> pa.Table:
    bad = len(lines) - STEP_SECONDS
    texts = [*lines[: PLACE + bad], *([None] if bad else []), *lines[PLACE + bad :]]
    return pa.table(
        {
            "value": pa.array([None if text is None else bytes_of(text) for text in texts], pa.binary()),
            "topic": pa.array(["t"] * len(texts)),
            "partition": pa.array([0] * len(texts), pa.int32()),
            "offset": pa.array(range(len(texts)), pa.int64()),
        }
    )


def _input(kind: str, settings: dict[str, object]) -> Input:
    return FrameInput(
        name=f"{kind}_messages",
        steps=lambda: _messages(kind),
        schema="value binary, topic string, partition int, offset bigint",
        settings={**BROKER, **settings},
    )


JSON_MESSAGES = _input("json", {"parse": parse_json("value", SCHEMA)})
CSV_MESSAGES = _input("csv", {"parse": parse_csv("value", SCHEMA)})
