from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from streamshed.errors import InvalidNetworkError, SourceUnavailableError
from streamshed.network.model.relation import relation
from streamshed.network.source.delta_source import delta
from streamshed.network.source.iceberg_source import iceberg
from streamshed.network.source.sources import FileFormat
from streamshed.network.words.columns import Column
from tests.unit.network.examples import HOSTS_FRAME, FakeFrame, hosts


def test_a_data_frame_knows_its_columns() -> None:
    assert hosts().types == {"host": "string", "subnet": "string", "weight": "double"}


def test_data_frames_are_compared_by_identity() -> None:
    assert hosts() == hosts()
    assert hosts() != hosts(frame=FakeFrame(HOSTS_FRAME.dtypes))


def test_a_parquet_file_says_its_columns_and_its_format(tmp_path: Path) -> None:
    path = tmp_path / "servers.parquet"
    pq.write_table(pa.table({"host": ["a"]}), path)
    servers = relation("servers", path)
    assert servers.columns == (Column("host", "string"),)
    assert (servers.format, servers.source) == (FileFormat.PARQUET, str(path))


def test_the_columns_of_a_text_file_come_from_a_schema_or_from_spark(tmp_path: Path) -> None:
    path = tmp_path / "servers.csv"
    path.write_text("host\na\n")
    assert relation("servers", path, options={"header": "true"}).columns is None
    assert relation("servers", path, schema="host string").columns == (Column("host", "string"),)


def test_options_may_be_truths(tmp_path: Path) -> None:
    path = tmp_path / "servers.csv"
    path.touch()
    servers = relation("servers", path, schema="host string", options={"header": False, "sep": ";"})
    assert servers.options == (("header", "false"), ("sep", ";"))


@pytest.mark.parametrize(
    ("ending", "options", "message"),
    [
        ("csv", {"nullValue": "-"}, 'unknown option "nullValue" of a csv relation, known: header, sep, delimiter'),
        ("csv", {"hedder": "true"}, r'unknown option "hedder" .*did you mean "header"\?'),
        ("csv", {"header": "maybe"}, "the option \"header\" is true or false, got 'maybe'"),
        ("csv", {"sep": "||"}, r"the separator is one character, got '\|\|'"),
        ("json", {"multiLine": "true"}, 'unknown option "multiLine" of a json relation, which has none'),
    ],
)
def test_options_that_its_reader_does_not_know(
    tmp_path: Path, ending: str, options: dict[str, str], message: str
) -> None:
    path = tmp_path / f"servers.{ending}"
    path.touch()
    with pytest.raises(InvalidNetworkError, match=f'relation "servers": {message}'):
        relation("servers", path, schema="host string", options=options)


def test_a_table_says_its_columns_where_it_can() -> None:
    hosts = relation("hosts", delta("data/hosts", schema="host string, subnet string"))
    assert hosts.types == {"host": "string", "subnet": "string"}
    assert hosts.format is None
    assert relation("hosts", iceberg("live.hosts", "lake", schema="host string")).types == {"host": "string"}
    assert relation("hosts", iceberg("live.hosts")).types is None


ODD: tuple[Any, ...] = ("live.hosts", None)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: relation("hosts", delta("nowhere")), '"nowhere" does not exist'),
        (lambda: relation("hosts", delta("s3a://b/hosts")), "is not on this machine: say its columns by schema"),
        (lambda: iceberg("hosts"), r"a table of Iceberg is \"namespace.table\", .*, got 'hosts'"),
        (lambda: iceberg("live.hosts", "https://catalog"), "a catalog of Iceberg is a name of letters"),
        (lambda: iceberg(*ODD), "a table of Iceberg and its catalog are names"),
        (lambda: iceberg("live.hosts", schema="host strin"), r'unknown type "strin" \(did you mean "string"\?\)'),
        (
            lambda: relation("hosts", iceberg("live.hosts"), schema="host string"),
            'relation "hosts": a table has its own format, schema and options',
        ),
        (
            lambda: relation("hosts", delta("data/hosts", schema="host string", max_files_per_micro_batch=5)),
            'relation "hosts": delta "data/hosts": options and max_files_per_micro_batch are for streams',
        ),
    ],
)
def test_tables_that_cannot_be(make: Callable[[], object], message: str) -> None:
    with pytest.raises((InvalidNetworkError, SourceUnavailableError), match=message):
        make()


def test_a_text_file_is_one_column_of_text(tmp_path: Path) -> None:
    path = tmp_path / "servers.text"
    path.touch()
    assert relation("servers", path).columns == (Column("value", "string"),)
    assert relation("servers", path, schema="host string").columns == (Column("host", "string"),)
    with pytest.raises(InvalidNetworkError, match='one column of type string, got the schema "host string, size int"'):
        relation("servers", path, schema="host string, size int")


def test_a_folder_of_partitions_needs_a_schema(tmp_path: Path) -> None:
    (tmp_path / "servers" / "day=1").mkdir(parents=True)
    pq.write_table(pa.table({"host": ["a"]}), tmp_path / "servers" / "day=1" / "0.parquet")
    with pytest.raises(InvalidNetworkError, match='holds the partition "day=1"'):
        relation("servers", tmp_path / "servers")
    assert relation("servers", tmp_path / "servers", schema="host string, day int").types is not None


def test_a_local_file_may_be_given_as_a_uri(tmp_path: Path) -> None:
    path = tmp_path / "all servers.parquet"
    pq.write_table(pa.table({"host": ["a"]}), path)
    assert relation("servers", path.as_uri()).columns == (Column("host", "string"),)
    with pytest.raises(SourceUnavailableError, match="does not exist"):
        relation("servers", "file:///nowhere/servers.csv")


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(SourceUnavailableError, match="does not exist"):
        relation("servers", tmp_path / "servers.parquet")


def test_a_file_elsewhere_is_left_to_spark() -> None:
    assert relation("servers", "s3a://bucket/servers.parquet").columns is None


def test_a_data_frame_needs_no_format() -> None:
    with pytest.raises(InvalidNetworkError, match="a DataFrame has its own format, schema and options"):
        relation("servers", HOSTS_FRAME, format="csv")


def test_names_that_cannot_be() -> None:
    with pytest.raises(InvalidNetworkError, match='a relation cannot be named "my servers"'):
        relation("my servers", HOSTS_FRAME)


def test_what_ends_strangely_needs_a_format(tmp_path: Path) -> None:
    path = tmp_path / "servers.xlsx"
    path.touch()
    with pytest.raises(InvalidNetworkError, match='unknown file format "xlsx"'):
        relation("servers", path)
