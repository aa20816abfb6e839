"""Records of JSON text, summed up by columns in Python tasks, against plain Spark."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

from streamshed.columnar.spark_hash import xxhash64
from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import QueryNetwork, network
from streamshed.network.model.query import Query
from streamshed.network.model.relation import relation
from streamshed.network.model.rows import Rows
from streamshed.network.source.sources import folder
from streamshed.network.terms.parsing import parse_json
from streamshed.spark import answers
from streamshed.spark.admit.admission import Admission
from streamshed.spark.source.source_frame import folder_frame
from streamshed.spark.windows.compiled_stream import CompiledStream, StreamSource, compile_stream
from tests.spark.sessions import interpreting

SCHEMA = "host string, port int, size bigint, cost double, ok boolean, at timestamp"
START = datetime(2024, 1, 1, tzinfo=UTC)
HOSTS = ("a", "", "ä€", "b\\", "c\x1fd", "N")
ODD = (
    b"",
    b"{",
    b'{"host": "a", "port": 99999999999}',
    b'{"host": "a", "port": 1.0, "size": 2}',
    b'{"host": 7, "port": 80, "size": 1000}',
    b'{"host": {"a": [1]}, "port": 80, "size": 1001}',
    b"{'host': 'a', 'port': 80, 'size': 1002}",
    b'{"host": "a", "host": "b", "port": 443, "size": 1003}',
    b'{"port": "80", "size": 1004}',
    b'{"host": "\\u00e4", "port": 80, "size": 1005}',
    b'{"host": "\xff", "port": 80, "size": 1006}',
    b'{"host": "a", "port": 80, "size": 9223372036854775808}',
    b'[{"host": "a", "port": 80}]',
    b'{"host": "a", "cost": NaN, "size": 1}',
    b'{"host": "a", "cost": 1e999, "size": 1}',
    b'{"host": "a", "at": "2024-01-01T00:00:61Z", "size": 1}',
    b'{"host": "a", "size": 5} {"host": "b"}',
    b"null",
)
IN_FULL = "map('mode', 'PERMISSIVE')"
"""Without any option Spark 4.2 reads no other field than the one that is asked for, and sees nothing wrong in them."""

QUERIES = {
    "all": ("true", "", "count(*) AS n, sum(size) AS bytes, min(size) AS least, max(size) AS most"),
    "web": ("port IN (80, 443)", "host", "count(*) AS n, avg(cost) AS mean, max(cost) AS most, count(cost) AS costs"),
    "dear": ("port <> 0 AND 100000 / port > 300", "port", "count(*) AS n, sum(size) AS bytes"),
    "pairs": ("size % 3 = 1", "host, ok", "count(*) AS n, sum(cost) AS cost"),
    "kinds": (
        "ok IS NOT NULL",
        "CASE WHEN size < 100 THEN 'small' ELSE host END",
        "count(host) AS n, max(greatest(arrived,at)) AS last",
    ),
    "hours": ("at >= '2024-01-01 00:00:30'", "date_trunc('minute', at)", "count(*) AS n"),
}
"""By name: which rows, by which keys, what."""


def _texts(seed: int, count: int) -> Iterator[bytes]:
    draw = random.Random(seed)
    for _ in range(count):
        if draw.random() < 0.005:
            yield draw.choice(ODD)
            continue
        record = {
            "host": draw.choice([*HOSTS, None]),
            "port": draw.choice([80, 443, 53, 0, None, -1]),
            "size": draw.choice([draw.randrange(1500), draw.randrange(2**40), None]),
            "cost": draw.choice([draw.gauss(5, 3), 0.0, -0.0, None]),
            "ok": draw.choice([True, False, None]),
            "at": draw.choice(["2024-01-01T00:00:10.5Z", "2024-01-01T02:01:00+02:00", None]),
        }
        there = {name: value for name, value in record.items() if draw.random() < 0.9}
        yield json.dumps(there, ensure_ascii=draw.random() < 0.1).encode()


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("records")
    for file in range(3):
        texts = list(_texts(file, 3000))
        times = [START + timedelta(milliseconds=7 * (3000 * file + row)) for row in range(len(texts))]
        table = pa.table(
            {
                "value": pa.array(texts, pa.binary()),
                "offset": pa.array(range(3000 * file, 3000 * file + len(texts)), pa.int64()),
                "arrived": pa.array(times, pa.timestamp("us", "UTC")),
            }
        )
        pq.write_table(table, path / f"{file}.parquet")
    return path


@pytest.fixture(scope="module")
def roles(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("roles") / "roles.parquet"
    pq.write_table(pa.table({"name": ["a", "", "ä€", "z"], "role": ["server", "client", None, "server"]}), path)
    return path


def _events(records: Path) -> Rows:
    return stream(
        "events",
        folder(records, "parquet", schema="value binary, offset bigint, arrived timestamp"),
        time="arrived",
        watermark="1 second",
        parse=parse_json("value", SCHEMA),
        identity=["offset"],
    )


def _query(events: Rows, name: str) -> Query:
    condition, keys, aggregates = QUERIES[name]
    named = dict(call.split(" AS ")[::-1] for call in aggregates.split(", "))
    grouping = {f"k{index}": key for index, key in enumerate(_keys(keys))}
    return events.filter(condition).window("10 seconds", every="5 seconds").by(**grouping).agg(**named).query(name)


def _keys(keys: str) -> list[str]:
    return keys.split(", ") if keys and "(" not in keys else [keys] if keys else []


def _network(records: Path, roles: Path) -> QueryNetwork:
    events, by_role = _events(records), relation("roles", roles)
    servers = events.lookup(by_role, on={"host": "name"}, columns=["role"]).filter("role = 'server'")
    strangers = events.semijoin(by_role, on={"host": "name"}, negate=True).map(twice="size div 2")
    return network(
        *(_query(events, name) for name in QUERIES),
        servers.window("4 seconds").by("role").agg(n="count(*)", bytes="sum(size)").query("servers"),
        strangers.window("4 seconds").agg(n="count(*)", halves="sum(twice)").query("strangers"),
    )


Answers = dict[tuple[str, datetime, tuple[str, ...], str], object]


def _expected(spark: SparkSession, records: Path, roles: Path) -> Answers:
    """What plain Spark says, window by window."""
    read = f"from_json(CAST(value AS STRING), '{SCHEMA}, _corrupt_record string', {IN_FULL}) AS r"
    rows = spark.read.parquet(str(records)).selectExpr("arrived", read)
    rows.where("r IS NOT NULL AND r._corrupt_record IS NULL").select("arrived", "r.*").createOrReplaceTempView("events")
    spark.read.parquet(str(roles)).createOrReplaceTempView("roles")
    expected: Answers = {}
    texts = {
        name: (f"SELECT *, {size} FROM events WHERE {condition}", keys, aggregates)
        for name, (condition, keys, aggregates) in QUERIES.items()
        for size in ["window(arrived, '10 seconds', '5 seconds') AS w"]
    }
    tumbling = "window(arrived, '4 seconds') AS w"
    texts["servers"] = (
        f"SELECT *, {tumbling} FROM events JOIN roles ON host = name WHERE role = 'server'",
        "role",
        "count(*) AS n, sum(size) AS bytes",
    )
    texts["strangers"] = (
        f"SELECT *, {tumbling} FROM events LEFT ANTI JOIN roles ON host = name",
        "",
        "count(*) AS n, sum(size div 2) AS halves",
    )
    for name, (text, keys, aggregates) in texts.items():
        spark.sql(text).createOrReplaceTempView("chosen")
        grouping = ", ".join(["w", *_keys(keys)])
        named = ", ".join(["w.start AS s", *(f"{key} AS k{i}" for i, key in enumerate(_keys(keys))), aggregates])
        expected |= dict(_of_query(name, spark.sql(f"SELECT {named} FROM chosen GROUP BY {grouping}")))
    return expected


def _of_query(name: str, answered: DataFrame) -> Iterator[tuple[tuple[str, datetime, tuple[str, ...], str], object]]:
    for row in answered.toArrow().to_pylist():
        key = tuple(_text(value) for column, value in row.items() if column[0] == "k" and column[1:].isdigit())
        for aggregate, value in row.items():
            if aggregate != "s" and not (aggregate[0] == "k" and aggregate[1:].isdigit()):
                yield (name, row["s"], key, aggregate), value


def _text(value: object) -> str:
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return str(value).lower() if isinstance(value, bool) else str(value)


def _answered(found: DataFrame) -> Answers:
    rows = found.where("kind = 'answer'").toArrow().to_pylist()
    assert all(row["exact"] for row in rows)
    return {
        (row["query"], row["window_start"], tuple(map(str, row["key"])), row["aggregate"]): row["value_text"]
        for row in rows
    }


def _same(text: object, value: object) -> bool:
    if text is None or value is None:
        return text is value
    if isinstance(value, datetime):
        return datetime.fromisoformat(str(text)) == value
    if isinstance(value, float):
        return float(str(text)) == pytest.approx(value, rel=1e-9, nan_ok=True)
    return str(text) == str(value)


def test_answers_are_those_of_plain_spark(spark: SparkSession, records: Path, roles: Path) -> None:
    session = interpreting(spark)
    session.conf.set("spark.sql.session.timeZone", "Etc/UTC")  # as Spark then calls the zone of the times that it sends
    answered = _answered(answers(_network(records, roles), session))
    expected = _expected(session, records, roles)
    assert answered.keys() == expected.keys()
    assert not {key: (answered[key], value) for key, value in expected.items() if not _same(answered[key], value)}


def _compiled(spark: SparkSession, events: Rows, query: Query) -> CompiledStream:
    rows = spark.read.parquet(str(events.stream.source.path))  # type: ignore[union-attr] # a folder
    return compile_stream(events.stream, [query], StreamSource(rows), Admission())


def test_these_rows_are_taken_by_columns(spark: SparkSession, records: Path, roles: Path) -> None:
    queries = _network(records, roles).queries
    rows = spark.read.parquet(str(records))
    compiled = compile_stream(queries[0].stream, queries, StreamSource(rows), Admission())
    assert compiled.row_by_row is None
    standing = compiled.line.rows.selectExpr("sum(__taken_rows) AS taken", "count_if(__taken_rows IS NULL) AS left")
    counts = standing.collect()[0]
    assert counts.taken + counts.left == 9000
    assert counts.taken > 6000, "most are ordinary"
    assert counts.left > 20, "of some Spark has to tell"


def test_broken_records_of_files_say_where_they_are(spark: SparkSession, records: Path) -> None:
    """Records that nothing but file and number tells apart: Spark forgets a row's file behind Python."""
    source = folder(records, "parquet", schema="value binary, offset bigint, arrived timestamp")
    events = stream("events", source, time="arrived", parse=parse_json("value", SCHEMA))
    query = events.window("5 seconds").agg(n="count(*)").query("q")
    compiled = compile_stream(events.stream, [query], StreamSource(folder_frame(spark, events.stream)), Admission())
    assert compiled.row_by_row is None
    broken = compiled.line.rows.where("__unreadable IS NOT NULL AND __sums IS NULL")
    places = broken.selectExpr("__file_path", "__file_row").collect()
    texts = spark.read.parquet(str(records)).selectExpr("value", "input_file_name()", "_metadata.row_index")
    read = f"from_json(CAST(value AS STRING), '{SCHEMA}, _corrupt_record string', {IN_FULL})"
    expected = texts.where(f"{read} IS NULL OR {read}._corrupt_record IS NOT NULL").drop("value").collect()
    assert expected
    assert sorted(map(tuple, places)) == sorted(map(tuple, expected))


@pytest.mark.parametrize(
    ("aggregate", "reason"),
    [
        ("stddev(size)", 'the query "q" asks for v, an aggregate that is made of single values'),
        ("max(host)", "is string, which is summed up by Spark"),
        ("sum(if(ok, 2.0, 1.0))", "is decimal(2,1), which is summed up by Spark"),
        ("sum(levenshtein(host, 'a'))", "levenshtein"),
    ],
)
def test_what_is_left_to_spark_says_why(spark: SparkSession, records: Path, aggregate: str, reason: str) -> None:
    events = _events(records)
    query = events.window("5 seconds").agg(v=aggregate).query("q")
    assert reason in str(_compiled(spark, events, query).row_by_row)


def test_whole_numbers_are_hashed_as_spark_does(spark: SparkSession) -> None:
    numbers = np.random.default_rng(1).integers(-(2**63), 2**63, 1000)
    frame = spark.createDataFrame(pa.table({"n": numbers})).selectExpr("n", "xxhash64(n) AS hash").toArrow()
    assert xxhash64(np.asarray(frame["n"])).tolist() == frame["hash"].to_pylist()
