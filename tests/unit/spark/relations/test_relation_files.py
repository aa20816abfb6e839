from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from streamshed.errors import SourceUnavailableError
from streamshed.network.source.sources import FileFormat
from streamshed.spark.relations.relation_files import relation_files
from streamshed.spark.relations.relation_reader import RelationReader
from streamshed.spark.relations.relation_table import TableReader


def test_a_local_file_may_be_given_as_a_uri(tmp_path: Path) -> None:
    path = tmp_path / "known hosts.csv"
    path.write_text("host\na\n")
    (file,) = relation_files(path.as_uri())
    assert file == relation_files(str(path))[0]
    store = TableReader(path.as_uri(), "hosts", FileFormat.CSV, ("host",), ("host",))
    reader = RelationReader(store, brings_columns=True)
    assert reader.read(pa.schema([("host", pa.string())])).to_pylist() == [{"host": "a"}]


def test_a_file_that_changed_is_another(tmp_path: Path) -> None:
    path = tmp_path / "hosts.csv"
    path.write_text("host\na\n")
    before = relation_files(str(path))
    assert relation_files(str(path)) == before
    path.write_text("host\nab\n")
    assert relation_files(str(path)) != before


@pytest.mark.parametrize(
    ("location", "message"),
    [
        ("s3a://bucket/hosts.csv", r'cannot reach "s3a://bucket/hosts.csv": .*did you mean "s3://bucket/hosts.csv"\?'),
        ("magic://hosts.csv", 'cannot reach "magic://hosts.csv": Unrecognized filesystem type'),
        ("file:///nowhere/hosts.csv", '"file:///nowhere/hosts.csv" does not exist'),
        ("/nowhere/hosts.csv", '"/nowhere/hosts.csv" does not exist'),
    ],
)
def test_where_nothing_can_be_read_is_told(location: str, message: str) -> None:
    reader = RelationReader(TableReader(location, "hosts", FileFormat.CSV, ("k",), ("k",)), brings_columns=False)
    with pytest.raises(SourceUnavailableError, match=f'^relation "hosts": .*{message}'):
        reader.read(pa.schema([("k", pa.string())]))


def test_a_folder_that_holds_no_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "_SUCCESS").touch()
    with pytest.raises(SourceUnavailableError, match="holds no file"):
        relation_files(str(tmp_path))


def test_a_table_of_delta_lake_is_no_folder_of_files(tmp_path: Path) -> None:
    """Files that its log has removed may still be there."""
    (tmp_path / "_delta_log").mkdir()
    (tmp_path / "0.parquet").touch()
    with pytest.raises(SourceUnavailableError, match=r"is a table of Delta Lake, .*: name it by delta"):
        relation_files(str(tmp_path))


def test_a_folder_of_folders_that_are_no_partitions_is_told(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "0.parquet").touch()
    with pytest.raises(SourceUnavailableError, match='holds the folder "old"'):
        relation_files(str(tmp_path))
