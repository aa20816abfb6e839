from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from streamshed.errors import InvalidNetworkError, SourceUnavailableError
from streamshed.network.columns import Column
from streamshed.network.relation import relation
from streamshed.network.sources import FileFormat
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
