"""Rows as text: a row a second, and amid them lines that cannot be read, each with the reason."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa

from streamshed.network.source.sources import FileFormat
from tests.spark.event_times import at
from tests.spark.trunks.inputs import Input
from tests.spark.trunks.time.events import YEAR_2038
from tests.spark.trunks.time.steps import BAD_STEP, FAR_AHEAD_STEP, STEP_SECONDS, STEPS

SCHEMA = "ts timestamp, v int"
NO_PARSE, NO_TEXT, NO_TIME = "text cannot be parsed", "text is null", "event time is null"
TIMED = {"time": "ts", "watermark": "1 second"}

NO_TEXT_OF_UTF8 = "\ufffd"
"""Stands for a byte that is none."""

BAD_JSON = {
    '{"ts": "2024-01-01T00:00:01Z", "v": 3': NO_PARSE,
    '{"ts": "2024-01-01T00:00:01Z", "v": "three"}': NO_PARSE,
    '{"ts": "yesterday", "v": 3}': NO_PARSE,
    "": NO_PARSE,
    "no JSON at all": NO_PARSE,
    f'{{"ts": "2024-01-01T00:00:01Z", {NO_TEXT_OF_UTF8}}}': NO_PARSE,
    '{"v": 3}': NO_TIME,
    '{"ts": null, "v": 3}': NO_TIME,
    "{}": NO_TIME,
}
BAD_CSV = {
    "2024-01-01T00:00:01Z,three": NO_PARSE,
    "yesterday,3": NO_PARSE,
    "2024-01-01T00:00:01Z": NO_PARSE,
    "2024-01-01T00:00:01Z,3,4": NO_PARSE,
    f"2024-01-01T00:00:01Z,{NO_TEXT_OF_UTF8}": NO_PARSE,
    ",3": NO_TIME,
}
TWICE = ("no JSON at all", "yesterday,3")
"""These come twice in files of text."""

PLACE = 5
"""The line of its file from which on lines come that are not ordinary."""


def text_of(instant: str, value: int, kind: str) -> str:
    """A row as a line."""
    return f"{instant},{value}" if kind == "csv" else json.dumps({"ts": instant, "v": value})


def lines_of(kind: str, *, twice: bool = True, far_ahead: bool = False) -> list[pa.Table]:
    """All steps: a column of lines, and beside it time and value of those that can be read.

    Args:
        kind: "json" or "csv".
        twice: Whether one of those that cannot be read comes twice.
        far_ahead: Whether there is one of the year 2038; time and value are not told of it.
    """
    return [_lines_of_step(step, kind, twice=twice, far_ahead=far_ahead) for step in range(STEPS)]


def _lines_of_step(step: int, kind: str, *, twice: bool, far_ahead: bool) -> pa.Table:
    seconds = [at(step * STEP_SECONDS + index) for index in range(STEP_SECONDS)]
    ordinary = [text_of(_iso(second.isoformat()), value, kind) for value, second in enumerate(seconds)]
    bad = list(BAD_CSV if kind == "csv" else BAD_JSON)
    odd = [*bad, *(line for line in TWICE if line in bad and twice)] if step == BAD_STEP else []
    if far_ahead and step == FAR_AHEAD_STEP:
        odd.append(text_of(_iso(YEAR_2038.isoformat()), 1_000_000, kind))
    nothing = [None] * len(odd)
    values = list(range(STEP_SECONDS))
    return pa.table(
        {
            "line": [*ordinary[:PLACE], *odd, *ordinary[PLACE:]],
            "ts": pa.array([*seconds[:PLACE], *nothing, *seconds[PLACE:]], pa.timestamp("us", "UTC")),
            "v": pa.array([*values[:PLACE], *nothing, *values[PLACE:]], pa.int64()),
        }
    )


def _iso(instant: str) -> str:
    return instant.replace("+00:00", "Z")


def bytes_of(line: str) -> bytes:
    """A line as a producer writes it."""
    return line.encode().replace(NO_TEXT_OF_UTF8.encode(), b"\xdc")


def write_lines(path: Path, rows: pa.Table, header: str = "") -> None:
    """Write the lines of a step as text."""
    path.write_bytes(b"".join([header.encode(), *(bytes_of(line) + b"\n" for line in rows["line"].to_pylist())]))


JSON = Input(
    name="json",
    steps=lambda: lines_of("json", far_ahead=True),
    write=write_lines,
    format=FileFormat.JSON,
    schema=SCHEMA,
    settings=TIMED,
)
