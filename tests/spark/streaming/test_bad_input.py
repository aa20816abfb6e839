"""What cannot be read is counted and set aside with the reason, and the queries go on."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import dataset
from pyspark.sql import SparkSession

from streamshed.network.network import QueryNetwork, network
from streamshed.network.sources import folder
from streamshed.network.stream import Parse, Stream, parse_csv, parse_json, stream
from tests.spark.streaming.files import at, write_lines, write_parquet
from tests.spark.streaming.harness import QUICK, Collected, finish

FILES = 3
SCHEMA = "ts timestamp, v int"
NO_PARSE, NO_TEXT, NO_TIME = "text cannot be parsed", "text is null", "event time is null"

BAD_JSON = {
    '{"ts": "2024-01-01T00:00:01Z", "v": 3': NO_PARSE,
    '{"ts": "2024-01-01T00:00:01Z", "v": "three"}': NO_PARSE,
    '{"ts": "yesterday", "v": 3}': NO_PARSE,
    "": NO_PARSE,
    "no JSON at all": NO_PARSE,
    '{"v": 3}': NO_TIME,
    '{"ts": null, "v": 3}': NO_TIME,
    "{}": NO_TIME,
}
BAD_CSV = {
    "2024-01-01T00:00:01Z,three": NO_PARSE,
    "yesterday,3": NO_PARSE,
    "2024-01-01T00:00:01Z": NO_PARSE,
    "2024-01-01T00:00:01Z,3,4": NO_PARSE,
    ",3": NO_TIME,
}
NUMBERS = [1.5, math.nan, math.inf, -math.inf, None, -0.0, 0.0]


@dataclass(frozen=True)
class BadInput:
    """What was answered, what was set aside, and how many rows the status said were unreadable."""

    collected: Collected
    set_aside: list[dict[str, Any]]
    unreadable_rows: int
    journaled: int


@pytest.fixture(scope="module")
def bad_input(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> BadInput:
    path = tmp_path_factory.mktemp("bad_input")
    for number in range(FILES):
        _write_file(path, number, with_bad_rows=number == 1)
    collected = Collected()
    settings = {"advisory": True, "unscalable": "keep", **QUICK}
    run = _network(path).start(spark, checkpoint=str(path / "checkpoint"), sink=collected, **settings)
    finish(run, FILES)
    found = dataset.dataset(path / "checkpoint" / "time" / "set_aside", partitioning="hive").to_table().to_pylist()
    return BadInput(collected, found, run.status().unreadable_rows, int(run.journal().unreadable_rows.iloc[-1]))


def _write_file(path: Path, number: int, *, with_bad_rows: bool) -> None:
    """Ten good rows, one a second, in each stream; two of the bad ones twice."""
    times = [at(number * 10 + index).isoformat().replace("+00:00", "Z") for index in range(10)]
    lines = [json.dumps({"ts": instant, "v": index}) for index, instant in enumerate(times)]
    commas = [f"{instant},{index}" for index, instant in enumerate(times)]
    bad_lines = [*BAD_JSON, "no JSON at all"] if with_bad_rows else []
    bad_commas = [*BAD_CSV, "yesterday,3"] if with_bad_rows else []
    write_lines(path / "json" / f"{number}.json", lines[:5] + bad_lines + lines[5:])
    write_lines(path / "csv" / f"{number}.csv", ["ts,v", *commas[:5], *bad_commas, *commas[5:]])
    _write_messages(path / "json_messages" / f"{number}.parquet", lines, list(BAD_JSON) if with_bad_rows else [])
    _write_messages(path / "csv_messages" / f"{number}.parquet", commas, list(BAD_CSV) if with_bad_rows else [])
    _write_numbers(path / "numbers" / f"{number}.parquet", number, with_bad_rows=with_bad_rows)


def _write_messages(file: Path, good: list[str], bad: list[str]) -> None:
    """As a broker delivers them: binary, with topic, partition and offset."""
    texts = [*good[:5], *bad, *([None] if bad else []), *good[5:]]
    table = pa.table(
        {
            "value": pa.array([None if text is None else text.encode() for text in texts], pa.binary()),
            "topic": pa.array(["t"] * len(texts)),
            "partition": pa.array([0] * len(texts), pa.int32()),
            "offset": pa.array(range(len(texts)), pa.int64()),
        }
    )
    write_parquet(file, table)


def _write_numbers(file: Path, number: int, *, with_bad_rows: bool) -> None:
    instants = [at(number * 10 + index % 10) for index in range(2 * len(NUMBERS))]
    table = pa.table(
        {
            "ts": pa.array([*instants, *([None] * with_bad_rows)], pa.timestamp("us", "UTC")),
            "x": pa.array([*NUMBERS, *NUMBERS, *([9.0] * with_bad_rows)], pa.float64()),
        }
    )
    write_parquet(file, table)


def _stream(path: Path, name: str, kind: str, parse: Parse | None = None) -> Stream:
    """A stream over a folder of its name."""
    is_parquet = kind == "parquet"
    source = folder(
        path / name,
        kind,
        schema=None if is_parquet else SCHEMA,
        options={"header": "true"} if kind == "csv" else None,
        max_files_per_micro_batch=1,
    )
    identity = None if parse is None else ["topic", "partition", "offset"]
    return stream(name, source, time="ts", watermark="1 second", parse=parse, identity=identity)


def _network(path: Path) -> QueryNetwork:
    streams = [
        _stream(path, "json", "json"),
        _stream(path, "csv", "csv"),
        _stream(path, "json_messages", "parquet", parse_json("value", SCHEMA)),
        _stream(path, "csv_messages", "parquet", parse_csv("value", SCHEMA)),
    ]
    numbers = _stream(path, "numbers", "parquet")
    calls = {name: f"{name}(x)" for name in ("sum", "avg", "min", "max", "count", "var_pop")}
    return network(
        *(known.window("10 seconds").agg(n="count(*)", total="sum(v)").query(known.name) for known in streams),
        numbers.window("10 seconds").agg(**calls).query("numbers"),
        numbers.filter("x IS NULL OR x < 2").window("10 seconds").agg(**calls).query("finite"),
        numbers.window("10 seconds").by("x").agg(n="count(*)").query("by_number"),
    )


@pytest.mark.parametrize("name", ["json", "csv", "json_messages", "csv_messages"])
def test_good_rows_are_answered_as_if_nothing_had_been(bad_input: BadInput, name: str) -> None:
    starts = [at(10 * number) for number in range(FILES)]
    assert bad_input.collected.values(name, "n") == dict.fromkeys(starts, 10.0)
    assert bad_input.collected.values(name, "total") == dict.fromkeys(starts, 45.0)
    assert all(row.exact for row in bad_input.collected.rows(name))


def _expected_aside() -> Iterator[tuple[str, str, str, int]]:
    """Stream, reason, text and number of each bad row."""
    for text, reason in BAD_JSON.items():
        yield "json", reason, text, 2 if text == "no JSON at all" else 1
        yield "json_messages", reason, text, 1
    for text, reason in BAD_CSV.items():
        yield "csv", reason, text, 2 if text == "yesterday,3" else 1
        yield "csv_messages", reason, text, 1
    yield "json_messages", NO_TEXT, "", 1
    yield "csv_messages", NO_TEXT, "", 1
    yield "numbers", NO_TIME, "", 1


def test_bad_rows_are_set_aside_with_the_reason(bad_input: BadInput) -> None:
    found = Counter((row["stream"], row["reason"], row["text"], row["rows"]) for row in bad_input.set_aside)
    assert found == Counter(_expected_aside())


def test_bad_rows_can_be_found_in_their_source(bad_input: BadInput) -> None:
    [number] = [row["identity"] for row in bad_input.set_aside if row["stream"] == "numbers"]
    assert number.endswith("numbers/1.parquet#14")
    messages = [json.loads(row["identity"]) for row in bad_input.set_aside if row["stream"] == "csv_messages"]
    assert sorted(message["offset"] for message in messages) == list(range(5, 5 + len(BAD_CSV) + 1))
    assert {(message["topic"], message["partition"]) for message in messages} == {("t", 0)}


def test_bad_rows_are_counted(bad_input: BadInput) -> None:
    expected = sum(rows for *_, rows in _expected_aside())
    assert bad_input.unreadable_rows == expected
    assert bad_input.journaled == expected


def test_bad_rows_do_not_reach_the_sink(bad_input: BadInput) -> None:
    assert bad_input.collected.rows(kind="unreadable") == []


def test_nan_and_infinities_have_defined_results(bad_input: BadInput) -> None:
    for row in bad_input.collected.rows("numbers"):
        assert row.exact
        value = row.value
        assert value is not None
        match row.aggregate:
            case "count":
                assert value == 12
            case "min":
                assert value == -math.inf
            case _:
                assert math.isnan(value), row.aggregate
    finite = {row.aggregate: row.value for row in bad_input.collected.rows("finite") if row.window_start == at(0)}
    assert finite == {
        "sum": -math.inf,
        "avg": -math.inf,
        "min": -math.inf,
        "max": 1.5,
        "count": 8,
        "var_pop": finite["var_pop"],
    }
    assert math.isnan(finite["var_pop"] or 0.0)


def test_null_nan_and_zeros_are_keys(bad_input: BadInput) -> None:
    keys = Counter[tuple[str | None, float | None]]()
    for row in bad_input.collected.rows("by_number"):
        keys[row.key[0], row.value] += 1
    twice = [("1.5", 2.0), ("NaN", 2.0), ("Infinity", 2.0), ("-Infinity", 2.0), (None, 2.0), ("0.0", 4.0)]
    assert keys == Counter(dict.fromkeys(twice, FILES))
