"""What is read of a relation in a table of Iceberg, and what is said where nothing can be read."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.types import StringType

from streamshed.errors import MissingExtraError, SourceUnavailableError
from streamshed.network.source.iceberg_source import iceberg
from streamshed.network.words.columns import Column
from streamshed.spark.relations.iceberg_reader import IcebergReader
from streamshed.spark.relations.relation_reader import RelationReader
from tests.iceberg_lake import IcebergLake

TABLE = "live.hosts"
ROWS = pa.table(
    {
        "Host": ["a", "b"],
        "size": pa.array([7, 8], pa.int32()),
        "seen": pa.array([0, 1], pa.timestamp("us", "UTC")),
        "ports": pa.array([[80], None], pa.list_(pa.int32())),
    }
)
TEXT, WHOLE = pa.string(), pa.int64()


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> IcebergLake:
    lake = IcebergLake(tmp_path)
    for name, value in lake.environment.items():
        monkeypatch.setenv(name, value)
    with lake.catalog as catalog:
        catalog.create_namespace("live")
        catalog.create_table(TABLE, ROWS.schema).append(ROWS)
    return lake


def reader(table: str = TABLE, catalog: str = IcebergLake.name, *keys: str) -> IcebergReader:
    return IcebergReader.here("hosts", iceberg(table, catalog), keys or ("host",))


def read(schema: Mapping[str, pa.DataType], *keys: str) -> list[dict[str, Any]]:
    stored = reader(TABLE, IcebergLake.name, *keys)
    rows: list[dict[str, Any]] = (
        RelationReader(stored, brings_columns=True).read(pa.schema([*schema.items()])).to_pylist()
    )
    return rows


@pytest.mark.usefixtures("lake")
def test_rows_are_of_the_types_declared() -> None:
    assert read({"host": TEXT, "size": WHOLE}) == [{"host": "a", "size": 7}, {"host": "b", "size": 8}]
    everything = {"host": TEXT, "seen": pa.timestamp("us", "UTC"), "ports": pa.list_(pa.int32())}
    expected = ROWS.rename_columns({"Host": "host"}).select([*everything]).to_pylist()
    assert read(everything) == expected


@pytest.mark.usefixtures("lake")
def test_the_table_tells_its_columns() -> None:
    kinds = {"Host": "string", "size": "int", "seen": "timestamp", "ports": "array<int>"}
    assert reader().columns() == tuple(Column(name, kind) for name, kind in kinds.items())


def test_what_was_read_is_kept_until_there_is_another_version(lake: IcebergLake) -> None:
    stored = RelationReader(reader(), brings_columns=True)
    schema = pa.schema([("host", TEXT)])

    def hosts() -> pa.Table:
        return pa.Table.from_batches(stored.batches(schema), schema)

    first, again = hosts(), hosts()
    assert first["host"].chunk(0).buffers()[2].address == again["host"].chunk(0).buffers()[2].address
    lake.table(TABLE).append(ROWS.slice(0, 1).set_column(0, "Host", [["c"]]))
    assert sorted(hosts()["host"].to_pylist()) == ["a", "b", "c"]
    lake.table(TABLE).delete("Host = 'a'")
    assert sorted(hosts()["host"].to_pylist()) == ["b", "c"]
    with lake.table(TABLE).update_schema() as update:
        update.add_column("area", StringType())
    assert pa.Table.from_batches(stored.batches(pa.schema([*schema, ("area", TEXT)])))["area"].null_count == 2


def test_a_table_without_rows_is_one(lake: IcebergLake) -> None:
    lake.table(TABLE).delete()
    assert read({"host": TEXT, "size": WHOLE}) == []
    with lake.catalog as catalog:
        catalog.create_table("live.new", ROWS.schema)
    assert reader("live.new").version() == (None, 0)
    assert reader("live.new").table((None, 0), pa.schema([("host", TEXT)])).num_rows == 0


def test_it_is_read_where_the_catalog_is_not_described(lake: IcebergLake, monkeypatch: pytest.MonkeyPatch) -> None:
    sent = pickle.dumps(reader())
    for name in lake.environment:
        monkeypatch.delenv(name)
    assert pickle.loads(sent).table((None, 0), pa.schema([("host", TEXT)])).num_rows == ROWS.num_rows


@pytest.mark.usefixtures("lake")
def test_passwords_are_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYICEBERG_CATALOG__LAKE__TOKEN", "chameleon")
    stored = reader()
    assert stored.described["token"] == "chameleon"
    assert "chameleon" not in repr(stored)
    assert "chameleon" not in repr(RelationReader(stored, brings_columns=True))


@pytest.mark.usefixtures("lake")
@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (
            {"host": TEXT, "sise": WHOLE},
            r'has no column "sise", only: Host, size, .*\(did you mean "size"\?\)',
        ),
        ({"host": WHOLE}, "\"host\" holds 'a', which is no bigint"),
        ({"ports": WHOLE}, '"ports" is .*list<.*>, which cannot be read as int64'),
    ],
)
def test_what_cannot_be_read_is_told(schema: Mapping[str, pa.DataType], message: str) -> None:
    with pytest.raises(SourceUnavailableError, match=f'relation "hosts": iceberg "live.hosts".*{message}'):
        read(schema, next(iter(schema)))


def test_a_key_that_is_there_twice_is_told(lake: IcebergLake) -> None:
    lake.table(TABLE).append(ROWS.slice(0, 1))
    with pytest.raises(SourceUnavailableError, match=r'1 rows of iceberg "live.hosts" repeat a key, such as host = a'):
        read({"host": TEXT, "size": WHOLE})


@pytest.mark.usefixtures("lake")
@pytest.mark.parametrize(
    ("table", "catalog", "message"),
    [
        ("live.gone", "lake", 'relation "hosts": iceberg "live.gone": its catalog has no such table'),
        (
            "live.hosts",
            "lak",
            r'iceberg "live.hosts": unknown catalog "lak".*\(did you mean "lake"\?\)',
        ),
    ],
)
def test_what_is_not_there_is_told(table: str, catalog: str, message: str) -> None:
    with pytest.raises(SourceUnavailableError, match=message):
        reader(table, catalog).version()


def test_the_package_that_is_missing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyiceberg.utils.config", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'streamshed\[iceberg\]'"):
        reader()
