"""Stored relations: keys that are there more than once, what is refused before anything runs, what Spark would read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from pyarrow import orc
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from streamshed.errors import SourceUnavailableError
from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import network
from streamshed.network.model.query import Query
from streamshed.network.model.relation import Relation, relation
from streamshed.network.model.rows import Rows
from streamshed.network.source.delta_source import delta
from streamshed.network.source.sources import folder
from streamshed.sharing.instructions import Match
from streamshed.spark.common.connector import DELTA
from streamshed.spark.relations.relation_frame import relation_frame
from streamshed.spark.sinks.sinks import console_sink
from tests.spark.files import timed_values, write_parquet

Make = Callable[[SparkSession, Path, str], Relation]
"""Makes a relation of a name, of files in a folder."""

SCHEMA = "k bigint, label string"


def of_file(*keys: int | None) -> Make:
    """In a Parquet file; each row has a label of its own."""

    def make(_spark: SparkSession, path: Path, name: str) -> Relation:
        rows = {"k": pa.array(keys, pa.int64()), "label": [f"l{index}" for index in range(len(keys))]}
        write_parquet(path / f"{name}.parquet", pa.table(rows))
        return relation(name, path / f"{name}.parquet")

    return make


def of_orc(*keys: int | None) -> Make:
    """In a file of ORC."""

    def make(_spark: SparkSession, path: Path, name: str) -> Relation:
        rows = {"k": pa.array(keys, pa.int64()), "label": [f"l{index}" for index in range(len(keys))]}
        orc.write_table(pa.table(rows), path / f"{name}.orc")
        return relation(name, path / f"{name}.orc")

    return make


def of_avro(*keys: int | None) -> Make:
    """In a folder of Avro, a file for each row."""

    def make(_spark: SparkSession, path: Path, name: str) -> Relation:
        place = path / f"{name}.avro"
        place.mkdir()
        fields = [{"name": "k", "type": ["null", "long"]}, {"name": "label", "type": "string"}]
        schema = fastavro.parse_schema({"type": "record", "name": "Label", "fields": fields})
        for index, key in enumerate(keys):
            with (place / f"{index}.avro").open("wb") as file:
                fastavro.writer(file, schema, [{"k": key, "label": f"l{index}"}])
        return relation(name, place)

    return make


def of_frame(*keys: int | None) -> Make:
    """The same in a data frame."""
    rows = [(key, f"l{index}") for index, key in enumerate(keys)]
    return lambda spark, _path, name: relation(name, spark.createDataFrame(rows, SCHEMA))


def of_text(ending: str, text: str, **settings: Any) -> Make:
    """In a file of text."""

    def make(_spark: SparkSession, path: Path, name: str) -> Relation:
        file = path / f"{name}.{ending}"
        file.write_text(text)
        return relation(name, file.as_uri(), **settings)

    return make


def of_two_columns(*, is_file: bool) -> Make:
    """Either column of the key repeats, and both together do not."""

    def make(spark: SparkSession, path: Path, name: str) -> Relation:
        rows = {"k": [1, 1, 2, 2], "also": [1, 2, 2, None], "label": ["a", "b", "c", "d"]}
        file = path / f"{name}.parquet"
        write_parquet(file, pa.table(rows))
        return relation(name, file if is_file else spark.read.parquet(str(file)))

    return make


LOOKUPS: Mapping[str, tuple[Make, Mapping[str | None, float]]] = {
    "avro": (of_avro(1, 3, None), {"l0": 1, "l1": 1}),
    "orc": (of_orc(1, 3, None), {"l0": 1, "l1": 1}),
    "csv_inferred": (of_text("csv", "k,label\n1,l0\n3,l1\n"), {"l0": 1, "l1": 1}),
    "csv_with_a_schema": (
        of_text("csv", "1;l0\n3;l1\n", schema=SCHEMA, options={"header": False, "sep": ";"}),
        {"l0": 1, "l1": 1},
    ),
    "json_inferred": (of_text("json", '{"k": 1, "label": "l0"}\n{"k": 3, "label": "l1"}\n'), {"l0": 1, "l1": 1}),
    "file_without_some_keys": (of_file(1, None, None, 3), {"l0": 1, "l3": 1}),
    "frame_without_some_keys": (of_frame(1, None, None, 3), {"l0": 1, "l3": 1}),
    "file_of_two_columns": (of_two_columns(is_file=True), {"a": 1, "c": 1}),
    "frame_of_two_columns": (of_two_columns(is_file=False), {"a": 1, "c": 1}),
}
"""How many rows have which label: rows without a key are nobody's, and a key is there twice only as a whole."""

SEMIJOINS: Mapping[str, Make] = {"file": of_file(1, 3, 3, None, None), "frame": of_frame(1, 3, 3, None, None)}
"""Of ten rows, two have a key that is there, whether once or twice."""


def events(path: Path) -> Rows:
    return stream("events", folder(path / "in", "parquet"), time="ts")


def looked_up(path: Path, labels: Relation, on: Mapping[str, str]) -> Query:
    labeled = events(path).map(w="v").lookup(labels, on=dict(on), columns=["label"])
    return labeled.window("10 seconds").by("label").agg(n="count(*)").query(labels.name)


def known(path: Path, labels: Relation, *, negate: bool) -> Query:
    rows = events(path).semijoin(labels, on={"v": "k"}, negate=negate)
    return rows.window("10 seconds").agg(n="count(*)").query(f"{'not_' if negate else ''}in_{labels.name}")


def write_events(path: Path) -> None:
    """Ten rows of the values 0 to 9, within one window."""
    write_parquet(path / "in" / "0.parquet", timed_values([0.5] * 10, list(range(10))))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    write_events(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def shown(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Mapping[str | None, float]]:
    """What one network says of all lookups and semijoins: by query the counts, by label where there are any."""
    path = tmp_path_factory.mktemp("relations")
    write_events(path)
    queries = [
        looked_up(path, make(spark, path, name), {"v": "k", "w": "also"} if "two_columns" in name else {"v": "k"})
        for name, (make, _) in LOOKUPS.items()
    ]
    for name, make in SEMIJOINS.items():
        labels = make(spark, path, name)
        queries += [known(path, labels, negate=negate) for negate in (False, True)]
    counts: dict[str, dict[str | None, float]] = {query.name: {} for query in queries}
    for row in network(*queries).answers(spark).where("kind = 'answer'").collect():
        counts[row.query][row.key[0] if row.key else None] = row.value
    return counts


@pytest.mark.parametrize("name", LOOKUPS)
def test_rows_get_what_the_relation_has_for_their_key(
    shown: Mapping[str, Mapping[str | None, float]], name: str
) -> None:
    assert shown[name] == LOOKUPS[name][1]


@pytest.mark.parametrize("name", SEMIJOINS)
def test_a_semijoin_takes_keys_that_repeat_for_one(shown: Mapping[str, Mapping[str | None, float]], name: str) -> None:
    assert (shown[f"in_{name}"], shown[f"not_in_{name}"]) == ({None: 2}, {None: 8})


def test_a_lookup_in_a_data_frame_refuses_them(spark: SparkSession, path: Path) -> None:
    labels = of_frame(1, 3, 3)(spark, path, "labels")
    answers = network(looked_up(path, labels, {"v": "k"})).answers(spark)
    with pytest.raises(PySparkException, match=r'relation "labels": .*have the key k = 3.*one row per key'):
        answers.collect()


def test_a_lookup_in_a_file_refuses_them_before_anything_runs(spark: SparkSession, path: Path) -> None:
    refused = network(looked_up(path, of_file(1, 3, 3)(spark, path, "labels"), {"v": "k"}))
    message = 'relation "labels": 1 rows of .* repeat a key, such as k = 3; a lookup needs one row per key'
    with pytest.raises(SourceUnavailableError, match=message):
        refused.answers(spark)
    with pytest.raises(SourceUnavailableError, match=message):
        refused.start(spark, checkpoint=str(path / "checkpoint"), sink=console_sink())
    assert spark.streams.active == []


@pytest.mark.parametrize(
    ("ending", "text", "message"),
    [
        ("csv", "k,label\nx,a\n", "\"k\" holds 'x', which is no bigint"),
        ("csv", "k,lable\n1,a\n", r'has no column "label", only: k, lable \(did you mean "lable"\?\)'),
        ("json", '{"k": 1.5, "label": "a"}\n', "\"k\" holds '1.5', which is no bigint"),
    ],
)
def test_a_relation_that_cannot_be_read_is_refused_before_anything_runs(
    spark: SparkSession, path: Path, ending: str, text: str, message: str
) -> None:
    labels = of_text(ending, text, schema=SCHEMA)(spark, path, "labels")
    with pytest.raises(SourceUnavailableError, match=f'relation "labels": .*labels.{ending}.*{message}'):
        network(looked_up(path, labels, {"v": "k"})).answers(spark)


def test_a_table_of_delta_lake_needs_its_connector(spark: SparkSession, path: Path) -> None:
    labels = relation("labels", delta(path / "labels", schema=SCHEMA))
    says = f'relation "labels": delta ".*/labels": .*connector to Delta Lake.*{DELTA.package() if DELTA.fits() else ""}'
    with pytest.raises(SourceUnavailableError, match=says):
        network(looked_up(path, labels, {"v": "k"})).answers(spark)


def test_a_relation_elsewhere_that_nobody_can_reach_is_refused(spark: SparkSession, path: Path) -> None:
    labels = relation("labels", "s3a://bucket/labels.csv", schema=SCHEMA)
    with pytest.raises(SourceUnavailableError, match=r'cannot reach "s3a://bucket/labels.csv"'):
        network(looked_up(path, labels, {"v": "k"})).answers(spark)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("stored.csv", 'zip,size,at,note\n00123,7,2024-01-31 10:00:00,1.50\n,,,\nTrue,-1,2024-01-31T10:00:00Z,""\n'),
        ("stored.json", '{"zip": "00123", "size": 7, "note": 1.50}\n{}\n{"zip": true, "note": "null"}\n'),
    ],
)
def test_values_are_those_that_spark_reads(spark: SparkSession, path: Path, name: str, text: str) -> None:
    (path / name).write_text(text)
    schema = "zip string, size int, at timestamp, note string"
    stored = relation("stored", path / name, schema=schema)
    on, outputs = (("row", "size"),), tuple((column.name, column.name) for column in stored.columns or ())
    shown = relation_frame(Match(stored, on, outputs, "matched"))
    expected = spark.read.schema(schema).option("header", "true").format(name.partition(".")[2]).load(str(path / name))
    assert shown.collect() == expected.where("size IS NOT NULL").collect()


def test_times_of_orc_are_refused(spark: SparkSession, path: Path) -> None:
    rows = {"k": pa.array([1, 3]), "label": pa.array([0, 1], pa.timestamp("us"))}
    orc.write_table(pa.table(rows), path / "labels.orc")
    labels = relation("labels", path / "labels.orc", schema="k bigint, label timestamp")
    asked = network(looked_up(path, labels, {"v": "k"}))
    with pytest.raises(SourceUnavailableError, match=r'its column "label" is a time, which is not read from ORC'):
        asked.answers(spark)
