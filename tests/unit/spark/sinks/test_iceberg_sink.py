"""Answers in a table of Iceberg: typed, each exactly once, whatever dies and whoever else writes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import requests
from pyiceberg import exceptions
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import DayTransform
from pyiceberg.types import IntegerType, NestedField, StringType
from pyiceberg.utils.config import Config

from streamshed.answering.table.answer_schema import ANSWER_SCHEMA
from streamshed.errors import InvalidNetworkError, MissingExtraError, ServerUnavailableError, SinkUnavailableError
from streamshed.spark.common.failures import may_pass
from streamshed.spark.sinks.iceberg_columns import COLUMNS, iceberg_schema
from streamshed.spark.sinks.iceberg_sink import IcebergSink, iceberg_sink
from tests.iceberg_lake import IcebergLake
from tests.iceberg_rest import RestCatalogServer, running_rest_catalog
from tests.unit.spark.sinks.answers import ANSWER, answers

TABLE, CATALOG = "live.answers", IcebergLake.name


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> IcebergLake:
    lake = IcebergLake(tmp_path)
    for name, value in lake.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("pyiceberg.catalog._ENV_CONFIG", Config())  # which it read when it was imported
    return lake


@pytest.fixture
def sink(lake: IcebergLake) -> IcebergSink:
    sink = iceberg_sink(TABLE, lake.name)
    sink.check()
    return sink


def aggregates(lake: IcebergLake) -> list[str]:
    return sorted(row["aggregate"] for row in lake.rows(TABLE))


def snapshots(lake: IcebergLake) -> int:
    return len(lake.table(TABLE).snapshots())


def test_a_missing_table_is_made_with_its_namespace(lake: IcebergLake) -> None:
    sink = iceberg_sink("flows.live.answers", CATALOG)
    sink.check()
    sink.check()
    schema = lake.table("flows.live.answers").schema()
    assert {field.name: str(field.field_type) for field in schema.fields} == COLUMNS
    assert lake.table("flows.live.answers").spec().is_unpartitioned()
    assert lake.table("flows.live.answers").snapshots() == []


def test_a_micro_batch_is_one_snapshot_and_is_there_once_if_it_runs_again(lake: IcebergLake, sink: IcebergSink) -> None:
    sink.write_rows(answers({}, {"aggregate": "m"}), "a", 7)
    sink.write_rows(answers({}, {"aggregate": "m"}), "a", 7)
    assert aggregates(lake) == ["m", "n"]
    (snapshot,) = lake.table(TABLE).snapshots()
    assert snapshot.summary is not None
    names = {"streamshed.query-id": "a", "streamshed.micro-batch-id": "7"}
    assert names.items() <= snapshot.summary.additional_properties.items()
    assert lake.table(TABLE).properties["streamshed.a"] == "7"
    assert "commit.retry.num-retries" not in lake.table(TABLE).properties


def test_a_micro_batch_without_answers_is_no_snapshot(lake: IcebergLake, sink: IcebergSink) -> None:
    sink.write_rows(answers(), "a", 7)
    assert snapshots(lake) == 0
    sink.write_rows(answers({}), "a", 8)
    assert aggregates(lake) == ["n"]


def test_clocks_and_checkpoints_do_not_know_each_others_micro_batches(lake: IcebergLake, sink: IcebergSink) -> None:
    sink.write_rows(answers({"aggregate": "of a"}), "a", 7)
    sink.write_rows(answers({"aggregate": "of b"}), "b", 7)
    sink.write_rows(answers({"aggregate": "of b"}), "b", 7)
    sink.write_rows(answers({"aggregate": "of b, later"}), "b", 8)
    assert [(row["query_id"], row["micro_batch_id"]) for row in sorted(lake.rows(TABLE), key=str)] == [
        *(("a", 7), ("b", 7), ("b", 8))
    ]


def test_what_is_there_is_known_when_its_snapshot_has_expired(lake: IcebergLake, sink: IcebergSink) -> None:
    sink.write_rows(answers({}), "a", 7)
    (first,) = lake.table(TABLE).snapshots()
    sink.write_rows(answers({}), "b", 0)
    lake.table(TABLE).maintenance.expire_snapshots().by_id(first.snapshot_id).commit()
    assert snapshots(lake) == 1
    sink.write_rows(answers({}), "a", 7)
    assert aggregates(lake) == ["n", "n"]


@pytest.mark.parametrize("is_committed", [False, True])
def test_a_writer_that_is_killed_around_its_commit_leaves_all_or_nothing(
    lake: IcebergLake, sink: IcebergSink, is_committed: bool
) -> None:
    program = (
        "import os, signal\n"
        "from tests.unit.spark.sinks.test_iceberg_sink import *\n"
        "commit = SqlCatalog.commit_table\n"
        "def dying(*arguments):\n"
        f"    if {is_committed}: commit(*arguments)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "SqlCatalog.commit_table = dying\n"
        "iceberg_sink(TABLE, CATALOG).write_rows(answers({}, {'aggregate': 'm'}), 'a', 7)\n"
    )
    root = Path(__file__).parents[4]
    done = subprocess.run([sys.executable, "-c", program], cwd=root, env=os.environ, check=False)
    assert done.returncode == -signal.SIGKILL
    assert snapshots(lake) == int(is_committed)
    sink.write_rows(answers({}, {"aggregate": "m"}), "a", 7)
    assert aggregates(lake) == ["m", "n"]


def before_each_commit(monkeypatch: pytest.MonkeyPatch, write: Callable[[], None], *, times: int) -> None:
    """Let someone else write to the table when a commit is about to be made."""
    commit, left = SqlCatalog.commit_table, [times]

    def committed(*arguments: Any) -> Any:
        if left[0]:
            left[0] -= 1
            monkeypatch.setattr(SqlCatalog, "commit_table", commit)
            write()
            monkeypatch.setattr(SqlCatalog, "commit_table", committed)
        return commit(*arguments)

    monkeypatch.setattr(SqlCatalog, "commit_table", committed)
    monkeypatch.setattr("time.sleep", lambda _seconds: None)


def test_who_loses_to_another_writer_tries_again(
    lake: IcebergLake, sink: IcebergSink, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = iter(range(9))
    others = "of another clock"
    before_each_commit(
        monkeypatch, lambda: sink.write_rows(answers({"aggregate": others}), "b", next(numbers)), times=2
    )
    sink.write_rows(answers({}), "a", 7)
    assert aggregates(lake) == ["n", others, others]


def test_who_loses_to_another_process_with_the_same_micro_batch_writes_nothing(
    lake: IcebergLake, sink: IcebergSink, monkeypatch: pytest.MonkeyPatch
) -> None:
    before_each_commit(monkeypatch, lambda: sink.write_rows(answers({}), "a", 7), times=1)
    sink.write_rows(answers({}), "a", 7)
    assert aggregates(lake) == ["n"]
    assert snapshots(lake) == 1


def test_who_loses_each_time_waits_as_for_a_server(
    lake: IcebergLake, sink: IcebergSink, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = iter(range(99))
    before_each_commit(monkeypatch, lambda: sink.write_rows(answers({}), "b", next(numbers)), times=99)
    with pytest.raises(ServerUnavailableError, match="others wrote to the table at the same time, 8 times in a row"):
        sink.write_rows(answers({}), "a", 7)
    assert {row["query_id"] for row in lake.rows(TABLE)} == {"b"}


def test_two_clocks_write_at_the_same_time(lake: IcebergLake, sink: IcebergSink) -> None:
    def write(query_id: str) -> None:
        for micro_batch_id in range(4):
            sink.write_rows(answers({}), query_id, micro_batch_id)

    with ThreadPoolExecutor() as pool:
        list(pool.map(write, "ab"))
    ids = sorted((row["query_id"], row["micro_batch_id"]) for row in lake.rows(TABLE))
    assert ids == [(query_id, number) for query_id in "ab" for number in range(4)]


def test_values_are_read_as_they_were_written(lake: IcebergLake, sink: IcebergSink) -> None:
    digits = "12345678901234567890.123456789"
    changes: list[dict[str, Any]] = [
        {"value": float(digits), "value_text": digits, "rows_used": 2**63 - 1, "window_from": -(2**63)},
        {"key": [], "value": float("inf"), "value_text": "a\0b", "low": False},
        {"key": None, "window_start": None, "window_end": None, "value": None, "value_text": None, "exact": None},
    ]
    sink.write_rows(answers(*changes), "a", 2**53 + 1)
    blank = dict.fromkeys(name for name, _ in ANSWER_SCHEMA)
    ids = {"query_id": "a", "micro_batch_id": 2**53 + 1}
    assert lake.rows(TABLE) == [blank | ANSWER | change | ids for change in changes]
    assert lake.table(TABLE).scan().to_arrow().to_pylist() == lake.rows(TABLE)


def test_columns_are_of_any_order_and_there_may_be_more(lake: IcebergLake) -> None:
    fields = [*reversed(iceberg_schema().fields), NestedField(99, "note", StringType())]
    make(lake, Schema(*fields))
    sink = iceberg_sink(TABLE, CATALOG)
    sink.check()
    sink.write_rows(answers({}), "a", 7)
    (row,) = lake.rows(TABLE)
    assert (row["key"], row["value"], row["note"]) == (["a", None], 3.0, None)


def make(lake: IcebergLake, schema: Schema, **options: Any) -> None:
    with lake.catalog as catalog:
        catalog.create_namespace("live")
        catalog.create_table(TABLE, schema, **options)


def changed(name: str, **changes: Any) -> Schema:
    """The schema of answers with another field, or one field more."""
    fields = {field.name: field for field in iceberg_schema().fields}
    field = fields.get(name, NestedField(99, name, StringType()))
    return Schema(*(fields | {name: field.model_copy(update=changes)}).values())


@pytest.mark.parametrize(
    ("schema", "says"),
    [
        (
            Schema(NestedField(1, "kind", StringType())),
            "the table there is of no answers, it lacks query, window_start",
        ),
        (Schema(*iceberg_schema().fields[:-1]), "it lacks the column micro_batch_id, long"),
        (changed("value", field_type=IntegerType()), "its column value is int, it should be double"),
        (changed("key", field_type=StringType()), r"its column key is string, it should be list<string>"),
        (changed("region", required=True), "its column region may not be null"),
        (changed("window_start", required=True), "its column window_start may not be null"),
    ],
)
def test_a_table_that_does_not_fit_is_refused(lake: IcebergLake, schema: Schema, says: str) -> None:
    make(lake, schema)
    with pytest.raises(SinkUnavailableError, match=f'^the sink iceberg "{TABLE}": .*{says}'):
        iceberg_sink(TABLE, CATALOG).check()


def test_a_new_table_is_partitioned(lake: IcebergLake) -> None:
    sink = iceberg_sink(TABLE, CATALOG, partition_by=("query", "kind"))
    sink.check()
    sink.write_rows(answers({}, {"query": "p"}, {"query": "p", "kind": "gap"}), "a", 7)
    partitions = lake.table(TABLE).inspect.data_files()["partition"].to_pylist()
    assert sorted((partition["query"], partition["kind"]) for partition in partitions) == [
        *(("p", "answer"), ("p", "gap"), ("q", "answer"))
    ]
    assert len(lake.rows(TABLE)) == 3
    sink.check()
    iceberg_sink(TABLE, CATALOG).check()


@pytest.mark.usefixtures("lake")
@pytest.mark.parametrize(("partitioned", "says"), [((), "nothing"), (("kind",), "kind")])
def test_other_partitions_are_refused(partitioned: tuple[str, ...], says: str) -> None:
    iceberg_sink(TABLE, CATALOG, partition_by=partitioned).check()
    with pytest.raises(SinkUnavailableError, match=f"the table there is partitioned by {says}, not by query"):
        iceberg_sink(TABLE, CATALOG, partition_by=("query",)).check()


def test_partitions_that_need_a_package_are_refused_at_the_start(
    lake: IcebergLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyiceberg_core", None)
    schema = iceberg_schema()
    day = PartitionField(schema.find_field("window_start").field_id, 1000, DayTransform(), "day")
    make(lake, schema, partition_spec=PartitionSpec(day))
    with pytest.raises(SinkUnavailableError, match=r"pip install \"pyiceberg\[pyiceberg-core\]"):
        iceberg_sink(TABLE, CATALOG).check()


def test_a_table_that_is_gone_is_no_passing_fault(lake: IcebergLake, sink: IcebergSink) -> None:
    with lake.catalog as catalog:
        catalog.drop_table(TABLE)
    with pytest.raises(SinkUnavailableError, match=r'the sink iceberg "live.answers": the table is gone') as raised:
        sink.write_rows(answers({}), "a", 7)
    assert not may_pass(raised.value)


@pytest.fixture
def server(lake: IcebergLake, monkeypatch: pytest.MonkeyPatch) -> Iterator[RestCatalogServer]:
    with lake.catalog as behind, running_rest_catalog(behind) as server:
        monkeypatch.setenv("PYICEBERG_CATALOG__REST__URI", server.address)
        monkeypatch.setattr("pyiceberg.catalog._ENV_CONFIG", Config())
        yield server


def test_a_commit_whose_answer_was_lost_is_there_once(lake: IcebergLake, server: RestCatalogServer) -> None:
    sink = iceberg_sink(TABLE, "rest", partition_by=("query",))
    sink.check()
    server.lost_answers = 1
    with pytest.raises(ServerUnavailableError, match="CommitStateUnknownException: Timeout: no answer in time"):
        sink.write_rows(answers({}), "a", 7)
    sink.write_rows(answers({}), "a", 7)
    sink.write_rows(answers({"aggregate": "m"}), "a", 8)
    assert aggregates(lake) == ["m", "n"]


def test_who_loses_on_a_server_tries_again(
    lake: IcebergLake, server: RestCatalogServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink = iceberg_sink(TABLE, "rest")
    sink.check()
    before_each_commit(monkeypatch, lambda: iceberg_sink(TABLE, CATALOG).write_rows(answers({}), "a", 7), times=1)
    sink.write_rows(answers({}), "a", 7)
    assert aggregates(lake) == ["n"]
    assert sum(request == "POST /v1/namespaces/live/tables/answers" for request in server.requests) == 1


SECRET = "chameleon-57"


@pytest.mark.usefixtures("lake")
def test_a_catalog_that_is_away_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYICEBERG_CATALOG__AWAY__URI", "http://127.0.0.1:9")
    monkeypatch.setenv("PYICEBERG_CATALOG__AWAY__TOKEN", SECRET)
    monkeypatch.setattr("pyiceberg.catalog._ENV_CONFIG", Config())
    sink = iceberg_sink(TABLE, "away")
    with pytest.raises(ServerUnavailableError, match=r'the sink iceberg "live.answers": ConnectionError: ') as raised:
        sink.write_rows(answers({}), "a", 7)
    assert may_pass(raised.value)
    with pytest.raises(SinkUnavailableError, match=r'the sink iceberg "live.answers": '):
        sink.check()
    assert SECRET not in repr(sink) + repr(vars(sink)) + str(raised.value)


@pytest.mark.parametrize(
    "error",
    [
        requests.exceptions.ReadTimeout("no answer"),
        exceptions.ServiceUnavailableError("503"),
        exceptions.CommitStateUnknownException("504"),
        OSError("When uploading part 1: AWS Error NETWORK_CONNECTION during UploadPart operation: curlCode: 28"),
    ],
)
def test_faults_that_pass_are_waited_out(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pyiceberg.catalog.load_catalog", raising(error))
    with pytest.raises(ServerUnavailableError):
        iceberg_sink(TABLE).write_rows(answers({}), "a", 7)


@pytest.mark.parametrize(
    "error",
    [
        exceptions.UnauthorizedError("401"),
        exceptions.ForbiddenError("403"),
        FileNotFoundError("no such bucket"),
        OSError("When uploading part 1: AWS Error ACCESS_DENIED during PutObject operation"),
        ValueError(f"Could not infer the catalog type from the uri: mysql://u:{SECRET}@db"),
    ],
)
def test_other_faults_are_not_and_show_no_password(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pyiceberg.catalog.load_catalog", raising(error))
    with pytest.raises(SinkUnavailableError, match=f"{type(error).__name__}: ") as raised:
        iceberg_sink(TABLE).write_rows(answers({}), "a", 7)
    assert SECRET not in str(raised.value)
    assert raised.value.__suppress_context__


def raising(error: Exception) -> Callable[[object], None]:
    def load_catalog(_name: object) -> None:
        raise error

    return load_catalog


@pytest.mark.usefixtures("lake")
def test_a_catalog_that_nobody_has_described_is_refused() -> None:
    with pytest.raises(
        SinkUnavailableError, match=r'unknown catalog "lakes", .* \(did you mean "lake"\?\); describe it in'
    ):
        iceberg_sink(TABLE, "lakes").check()


@pytest.mark.parametrize(
    ("table", "catalog", "partition_by", "says"),
    [
        ("answers", "", (), 'a table of Iceberg is "namespace.table"'),
        ("", "", (), "got ''"),
        ("live.", "", (), "got 'live.'"),
        (5, "", (), "got table 5"),
        (TABLE, None, (), "a sink of Iceberg is a table and the name of its catalog"),
        (TABLE, f"https://u:{SECRET}@lake", (), "a catalog of Iceberg is a name"),
        (TABLE, "lake", ("key",), 'cannot be partitioned by "key"'),
        (TABLE, "lake", ("quary",), 'did you mean "query"'),
    ],
)
def test_a_sink_is_a_table_a_catalog_and_columns(table: Any, catalog: Any, partition_by: Any, says: str) -> None:
    with pytest.raises(InvalidNetworkError, match=says) as raised:
        iceberg_sink(table, catalog, partition_by=partition_by)
    assert SECRET not in str(raised.value)


def test_without_the_package_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyiceberg.catalog", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'streamshed\[iceberg\]'"):
        iceberg_sink(TABLE).check()
