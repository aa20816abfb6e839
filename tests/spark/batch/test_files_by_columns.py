"""Rows of Parquet files that tasks read themselves: the same rows, values, samples and answers as through Spark."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from streamshed.columnar.column_types import TYPES
from streamshed.columnar.file_rows import FileRows
from streamshed.columnar.spark_hash import hash_of_row
from streamshed.columnar.texts.dictionaries import plain
from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import QueryNetwork, network
from streamshed.network.model.query import Query
from streamshed.network.model.rows import Rows
from streamshed.network.source.sources import folder
from streamshed.network.terms.cohorts import COHORTS
from streamshed.network.terms.gap import GapsBy
from streamshed.sharing.gating import LEVELS
from streamshed.spark import answers
from streamshed.spark.admit.admission import Admission
from streamshed.spark.checkpoint.state_layout import StateLayout
from streamshed.spark.columns import file_spans
from streamshed.spark.common.internal_names import BYTES, FILE_PATH, NOW, OPEN, OPENED, RETAINED, SPAN_START, SPAN_STOP
from streamshed.spark.compile.plan_table import PLAN_SCHEMA, plan_values
from streamshed.spark.plan.plan_columns import Plan
from streamshed.spark.plan.plan_row import StreamPlan
from streamshed.spark.source.source_frame import files_read_by_tasks, folder_frame
from streamshed.spark.windows.compiled_stream import CompiledStream, StreamSource, compile_stream
from tests.spark.sessions import interpreting

START = datetime(2024, 1, 1, tzinfo=UTC)
ROWS = 66_770
ROW_BY_ROW = "spark.sql.parquet.fieldId.read.enabled"
"""With this setting rows of files go through Spark."""


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two files: of one, row groups and spans end at other rows; the other is a single short row group."""
    path = tmp_path_factory.mktemp("typed") / "100% of it"
    path.mkdir()
    for name, first, count in (("0 a", 0, ROWS), ("1+b", ROWS, 500)):
        ids = np.arange(first, first + count)
        table = pa.table(
            {
                "at": pa.array([int(START.timestamp() * 1e6)] * count, pa.int64()).to_numpy() + ids * 200,
                "id": ids,
                "Host": pa.array([None if one % 11 == 0 else f"host {one % 7}" for one in ids.tolist()]),
                "size": pa.array(ids % 1500, pa.int32()),
            }
        )
        at = table["at"].cast(pa.timestamp("us", "UTC"))
        pq.write_table(table.set_column(0, "at", at), path / f"{name}.parquet", row_group_size=30_000)
    return path


def _packets(path: Path) -> Rows:
    schema = "at timestamp, id bigint, host string, size bigint, absent int"
    return stream("packets", folder(path, "parquet", schema=schema), time="at", watermark="1 second")


def _network(packets: Rows) -> QueryNetwork:
    large = packets.filter("size > 700")
    return network(
        packets.window("2 seconds").agg(n="count(*)", ids="sum(id)", least="min(id)", most="max(id)").query("all"),
        large.window("4 seconds", every="2 seconds").by("host").agg(n="count(*)", mean="avg(size)").query("large"),
        packets.filter("absent IS NULL").window("2 seconds").agg(n="count(absent)", h="count(host)").query("absent"),
    )


def _row_by_row(spark: SparkSession) -> SparkSession:
    session = spark.newSession()
    session.conf.set("spark.sql.codegen.wholeStage", "false")
    session.conf.set(ROW_BY_ROW, "true")
    return session


def _answered(asked: QueryNetwork, session: SparkSession) -> dict[tuple[Any, ...], Any]:
    rows = answers(asked, session).toArrow().to_pylist()
    names = ("query", "kind", "window_start", "aggregate")
    return {(*(row[name] for name in names), tuple(row["key"] or ())): row["value_text"] for row in rows}


def test_each_row_of_each_span_counts_once(spark: SparkSession, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = _network(_packets(path))
    session = interpreting(spark)
    monkeypatch.setattr(file_spans, "ROW_GROUPS_BYTES", 1000)
    read = _compiled(session, asked.queries, Admission()).line.rows.where("__read_rows > 0").count()
    assert read == session.sparkContext.defaultParallelism > 1
    found = _answered(asked, session)
    assert sum(int(text) for place, text in found.items() if place[0] == "all" and place[3] == "n") == ROWS + 500
    assert found == _answered(asked, _row_by_row(spark))


def test_tasks_take_as_many_files_each(spark: SparkSession) -> None:
    """Of a file with one row group, all rows are read with the first span."""
    small = [(f"file:///small/{number}", 1000) for number in range(24)]
    large = [("file:///large", 3000)]
    in_partitions = spark.sparkContext.parallelize(small, 7)
    files = spark.createDataFrame(in_partitions, f"{FILE_PATH} string, {BYTES} bigint")
    spans = file_spans.file_spans(files, 4, 1000).withColumn("task", F.spark_partition_id()).collect()
    assert [*Counter(span.task for span in spans).values()] == [6] * 4
    spans = file_spans.file_spans(spark.createDataFrame(large, files.schema), 4, 1000).collect()
    ends = sorted((span[SPAN_START], span[SPAN_STOP]) for span in spans)
    assert ends == [(part * 1000, (part + 1) * 1000) for part in range(3)]


def _compiled(spark: SparkSession, queries: tuple[Query, ...], admission: Admission) -> CompiledStream:
    packets, [domain] = queries[0].stream, network(*queries).time_domains
    files = files_read_by_tasks(spark, domain, [packets.name], is_streaming=False)
    source = StreamSource(folder_frame(spark, packets), files[packets.name])
    return compile_stream(packets, queries, source, admission)


def test_spark_reads_no_column_of_these_files(spark: SparkSession, path: Path) -> None:
    compiled = _compiled(spark, _network(_packets(path)).queries, Admission())
    assert compiled.row_by_row is None
    plan: Any = compiled.line.rows._jdf.queryExecution()  # noqa: SLF001 - plans have no public way
    [read] = [line for line in plan.executedPlan().toString().splitlines() if "ReadSchema" in line]
    assert "ReadSchema: struct<length:bigint>" in read


def _sheds(work: CompiledStream) -> Mapping[str, tuple[Any, Any]]:
    """By name, what rows pass by their levels, and what is done with them by their places."""
    draw = random.Random(3)
    words = len(work.work.classes) + 1
    by_level = [[[draw.randrange(4) for _ in range(words)] for _ in range(LEVELS)]]
    base, slots = int(START.timestamp() * 1e6) + 1_000_000, 4
    places = slots * (len(work.work.cohort_keys) * COHORTS or 1)
    of_places = [[draw.choice([-1, 0, 1, 2]) for _ in range(words)] for _ in range(places)]
    retained = (base, 2_000_000, of_places, ([0.0, 1.0, 0.3, 0.0] * places)[:places])
    return {"sample": (by_level, None), "windows": (None, retained), "both": (by_level, retained)}


@pytest.mark.parametrize("gaps_by", [GapsBy.WINDOW, GapsBy.GROUP])
@pytest.mark.parametrize("shed", ["sample", "windows", "both"])
def test_the_same_rows_are_kept_and_pass_the_same(spark: SparkSession, path: Path, shed: str, gaps_by: GapsBy) -> None:
    packets = _packets(path)
    queries = tuple(
        packets.filter(condition)
        .window("2 seconds")
        .by(**keys)
        .agg(n="count(*)")
        .query(name, mode="subset", max_gap=5, gaps_by=gaps_by)
        for name, condition, keys in (
            ("small", "size < 900", {"id": "id"}),
            ("large", "size > 500", {"at_once": "host", "its": "CAST(id AS STRING)"}),
            ("any", "size > 20", {"its": "CAST(id AS STRING)"}),
        )
    )
    sampled = packets.window("2 seconds").by("id").agg(n="count(*)").query("sampled")
    asked = network(*queries, sampled).queries
    by_level, retained = _sheds(_compiled(spark, asked, Admission()))[shed]
    kept = []
    for session in (interpreting(spark), _row_by_row(spark)):
        values = dict(zip(_names(), plan_values(StreamPlan(sampling_code=9), 0, _gating(session, asked)), strict=True))
        values |= {"__by_level": by_level, RETAINED: retained}
        values |= {} if by_level else {"__sampling_rate": 1.0}
        row = session.createDataFrame([tuple(values.values())], PLAN_SCHEMA)
        plan = Plan(row.withColumns({OPENED: F.col(OPEN), NOW: F.lit(int(START.timestamp() * 1e6))}))
        compiled = _compiled(session, asked, Admission(plan))
        assert (compiled.row_by_row is None) == (session.conf.get(ROW_BY_ROW) == "false")
        kept.append(_passing(compiled))
    assert 1000 < len(kept[0]) < 4 * ROWS
    assert kept[0] == kept[1]


def _names() -> list[str]:
    return [one.split()[0] for one in PLAN_SCHEMA.split(", ")]


def _gating(spark: SparkSession, queries: tuple[Query, ...]) -> Any:
    return _compiled(spark, queries, Admission()).work.gating


def _passing(compiled: CompiledStream) -> set[tuple[Any, ...]]:
    """Class, mask and identity of all rows that pass anything."""
    rows = compiled.rows(StateLayout())
    rows = rows.selectExpr("explode(entries) AS entry").select("entry.*") if "entries" in rows.columns else rows
    passing = rows.where("mask <> 0").select("class_id", "mask", "key_long", "key_text").toArrow().to_pylist()
    return {tuple(row.values()) for row in passing}


def test_what_identifies_a_row_is_hashed_as_spark_does(spark: SparkSession) -> None:
    draw = random.Random(1)
    columns = {
        "text": [None, *("ä" * (length // 2) + "x" * length for length in range(100))],
        "bytes": [bytes(draw.randrange(256) for _ in range(length)) for length in range(101)],
        "byte": [draw.randrange(-128, 128) for _ in range(101)],
        "whole": [None if number % 5 == 0 else draw.randrange(-(2**31), 2**31) for number in range(101)],
        "long": [draw.randrange(-(2**63), 2**63) for _ in range(101)],
    }
    types = {"text": "string", "bytes": "binary", "byte": "tinyint", "whole": "int", "long": "bigint"}
    table = pa.table({name: pa.array(values, TYPES[types[name]]) for name, values in columns.items()})
    hashes = spark.createDataFrame(table).select(F.xxhash64(F.lit("salt"), *table.column_names).alias("hash")).toArrow()
    ours = [column.combine_chunks() for column in table.columns]
    assert hash_of_row([pa.scalar("salt"), *ours], 101).tolist() == hashes["hash"].to_pylist()


TIMES = [START, datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC), datetime(1, 1, 1, tzinfo=UTC), None]
FILED: Mapping[str, tuple[pa.Array, tuple[str, ...]]] = {
    "int8": (pa.array([-128, 127, None, 0], pa.int8()), ("tinyint", "smallint", "int", "bigint", "double")),
    "int16": (pa.array([-(2**15), 2**15 - 1, None, 0], pa.int16()), ("smallint", "int", "bigint", "double")),
    "int32": (pa.array([-(2**31), 2**31 - 1, None, 0], pa.int32()), ("int", "bigint", "double")),
    "int64": (pa.array([-(2**63), 2**63 - 1, None, 0], pa.int64()), ("bigint",)),
    "uint8": (pa.array([0, 255, None, 1], pa.uint8()), ("smallint", "int", "bigint", "double")),
    "uint16": (pa.array([0, 65_535, None, 1], pa.uint16()), ("int", "bigint", "double")),
    "uint32": (pa.array([0, 2**32 - 1, None, 1], pa.uint32()), ("bigint",)),
    "float32": (pa.array([0.1, -0.0, None, float("inf")], pa.float32()), ("float", "double")),
    "float64": (pa.array([0.1, -0.0, None, float("-inf")], pa.float64()), ("double",)),
    "truth": (pa.array([True, False, None, True]), ("boolean",)),
    "text": (pa.array(["", "ä", None, "\U0001f600"]), ("string", "binary")),
    "large_text": (pa.array(["", "ä", None, "b"], pa.large_string()), ("string", "binary")),
    "words": (pa.array(["a", "b", None, "a"]).dictionary_encode(), ("string", "binary")),
    "viewed": (pa.array(["", "ä", None, "b"], pa.string_view()), ("string", "binary")),
    "viewed_bytes": (pa.array([b"", b"ab", None, b"\xc3\xa4"], pa.binary_view()), ("binary", "string")),
    "span": (pa.array([-5, 5, None, 2**63 - 1], pa.duration("us")), ("bigint",)),
    "flag": (pa.ExtensionArray.from_storage(pa.bool8(), pa.array([1, 0, None, 1], pa.int8())), ("tinyint", "int")),
    "noted": (pa.ExtensionArray.from_storage(pa.json_(), pa.array(["{}", "1", None, ""])), ("string", "binary")),
    "bytes": (pa.array([b"", b"ab", None, b"\xc3\xa4"]), ("binary", "string")),
    "day": (pa.array([date(2024, 2, 29), date(1, 1, 1), None, date(9999, 12, 31)]), ("date", "timestamp_ntz")),
    "instant": (pa.array(TIMES, pa.timestamp("us", "UTC")), ("timestamp",)),
    "elsewhere": (pa.array(TIMES, pa.timestamp("us", "Europe/Berlin")), ("timestamp",)),
    "millis": (pa.array([START, None, START, None], pa.timestamp("ms", "UTC")), ("timestamp",)),
    "wall_clock": (
        pa.array([one and one.replace(tzinfo=None) for one in TIMES], pa.timestamp("us")),
        ("timestamp_ntz", "timestamp"),
    ),
}
"""By name, a column as files have it, and the types as which Spark reads it with the same values."""


def test_each_type_has_the_values_that_spark_reads(spark: SparkSession, tmp_path: Path) -> None:
    table = pa.table({name: column for name, (column, _) in FILED.items()})
    pq.write_table(table, tmp_path / "0.parquet")
    for place in range(max(len(kinds) for _, kinds in FILED.values())):
        kinds = {name: kinds[min(place, len(kinds) - 1)] for name, (_, kinds) in FILED.items()}
        _check_read(spark, tmp_path, kinds, table.num_rows)


def _check_read(spark: SparkSession, path: Path, kinds: Mapping[str, str], count: int) -> None:
    """See that the only file of a folder is read alike, in any case of letters."""
    schema = ", ".join(f"{name.upper()} {kind}" for name, kind in kinds.items())
    expected = spark.read.schema(schema).parquet(str(path)).toArrow()
    [only] = path.glob("*.parquet")
    file = FileRows.of(str(only), {name.upper(): TYPES[kind] for name, kind in kinds.items()})
    [run] = file.runs(0, ROWS)
    [part] = file.parts(run, [name.upper() for name in kinds])
    assert part.stop - part.start == count
    for name, read in part.columns.items():
        column = plain(read)
        assert column.type == expected.schema.field(name).type
        assert repr(column.to_pylist()) == repr(expected[name].to_pylist()), name


@pytest.mark.parametrize("unit", ["INT96", "TIMESTAMP_MICROS", "TIMESTAMP_MILLIS"])
def test_times_that_spark_wrote_are_those_that_it_reads(spark: SparkSession, tmp_path: Path, unit: str) -> None:
    session = spark.newSession()
    session.conf.set("spark.sql.parquet.outputTimestampType", unit)
    times = [START + timedelta(milliseconds=7), datetime(1600, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC)]
    frame = session.createDataFrame(pa.table({"at": pa.array(times, pa.timestamp("us", "UTC"))})).coalesce(1)
    frame.write.parquet(str(tmp_path / "written"))
    _check_read(session, tmp_path / "written", {"at": "timestamp"}, len(times))


def test_texts_that_are_no_utf_8_take_the_way_of_spark(spark: SparkSession, tmp_path: Path) -> None:
    texts = [b"a", b"\xff", b"b", b"\xc3"]
    times = [START + timedelta(seconds=second) for second in range(4)]
    pq.write_table(pa.table({"at": pa.array(times, pa.timestamp("us", "UTC")), "t": texts}), tmp_path / "0.parquet")
    rows = stream("rows", folder(tmp_path, "parquet", schema="at timestamp, t string"), time="at")
    query = rows.filter("length(t) > 0").window("1 minute").by("t").agg(n="count(*)").query("q")
    compiled = _compiled(spark, (query,), Admission())
    assert compiled.row_by_row is None
    left = compiled.line.rows.where("__taken_rows IS NULL AND __sums IS NULL").selectExpr("hex(t)").collect()
    assert sorted(row[0] for row in left) == ["C3", "FF"]
    assert _answered(network(query), spark) == _answered(network(query), _row_by_row(spark))


@pytest.mark.parametrize(("options", "told"), [({}, 12), ({"recursiveFileLookup": "true"}, 2)], ids=str)
def test_the_names_of_folders_are_columns(
    spark: SparkSession, tmp_path: Path, options: dict[str, str], told: int
) -> None:
    days = [date(2024, 1, 1), date(2024, 1, 2), None]
    frame = spark.createDataFrame(
        [(START + timedelta(seconds=n), n, days[n % 3], f"a b%{n % 2}") for n in range(60)],
        "at timestamp, n bigint, Day date, s string",
    )
    frame.coalesce(1).write.partitionBy("Day", "s").parquet(str(tmp_path / "in"))
    schema = "at timestamp, n bigint, day date, S string"
    rows = stream("rows", folder(tmp_path / "in", "parquet", schema=schema, options=options), time="at")
    hourly = rows.window("1 hour").by(s="s", day="CAST(day AS string)").agg(n="count(*)", total="sum(n)").query("q")
    compiled = _compiled(spark, (hourly,), Admission())
    assert compiled.row_by_row is None
    found = _answered(network(hourly), spark)
    assert len(found) == told
    assert found == _answered(network(hourly), _row_by_row(spark))
