import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from streamshed.errors import InvalidNetworkError, SourceUnavailableError
from streamshed.network.source.sources import DataFrameSource, FileFormat, as_source, folder, rate
from streamshed.network.terms.parsing import Parse, parse_csv, parse_json
from streamshed.network.words.columns import Column
from tests.unit.network.examples import FakeFrame


class OfTheDriver(FakeFrame):
    """A frame that no other process may hold."""

    def __reduce__(self) -> str:
        raise AssertionError


def test_of_a_dataframe_tasks_get_its_columns() -> None:
    source = DataFrameSource(OfTheDriver([("ts", "timestamp"), ("size", "int")]))
    sent = pickle.loads(pickle.dumps(source))
    assert sent.columns == source.columns
    assert sent != source


def test_a_folder_takes_its_columns_from_the_schema() -> None:
    source = folder("data/packets", "json", schema="ts TIMESTAMP, size INTEGER")
    assert source.columns == (Column("ts", "timestamp"), Column("size", "int"))
    assert source == folder(Path("data/packets"), "json", schema="ts timestamp,size int")


def test_a_folder_of_parquet_takes_its_columns_from_the_first_footer(tmp_path: Path) -> None:
    (tmp_path / "_spark_metadata").mkdir()
    pq.write_table(pa.table({"hidden": [1]}), tmp_path / "_spark_metadata" / "a.parquet")
    pq.write_table(pa.table({"size": pa.array([1], pa.int32())}), tmp_path / "b.parquet")
    assert folder(tmp_path, "parquet").columns == (Column("size", "int"),)


def test_a_folder_that_is_not_there_has_no_columns(tmp_path: Path) -> None:
    with pytest.raises(SourceUnavailableError, match="does not exist, and no schema says"):
        _ = folder(tmp_path / "missing", "parquet").columns
    with pytest.raises(SourceUnavailableError, match="holds no Parquet file yet"):
        _ = folder(tmp_path, "parquet").columns


def test_a_file_that_is_no_parquet_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_text("no parquet")
    with pytest.raises(SourceUnavailableError, match="as Parquet"):
        _ = folder(tmp_path, "parquet").columns


def test_text_has_one_column() -> None:
    assert folder("logs", "text").columns == (Column("value", "string"),)


def test_options_have_no_order() -> None:
    one = folder("x", "csv", schema="a int", options={"header": "true", "sep": ";"})
    assert one == folder("x", "csv", schema="a int", options={"sep": ";", "header": "true"})


@pytest.mark.parametrize(
    ("format_name", "schema", "problem"),
    [
        ("parqet", None, 'unknown file format "parqet", known are: .* \\(did you mean "parquet"\\?\\)'),
        ("json", None, "json files need a schema"),
        ("csv", "a itn", 'column "a": unknown type "itn"'),
    ],
)
def test_folders_that_cannot_be(format_name: str, schema: str | None, problem: str) -> None:
    with pytest.raises(InvalidNetworkError, match=problem):
        folder("x", format_name, schema=schema)


@pytest.mark.parametrize("limit", [0, -1, 1.5, True])
def test_the_limit_of_files_is_a_positive_number(limit: int) -> None:
    with pytest.raises(InvalidNetworkError, match="max_files_per_micro_batch must be at least 1"):
        folder("x", "text", max_files_per_micro_batch=limit)


def test_the_rate_source_counts() -> None:
    assert [column.name for column in rate(100).columns] == ["timestamp", "value"]
    with pytest.raises(InvalidNetworkError, match="rows_per_second must be at least 1, got 0"):
        rate(0)


def test_data_frames_are_compared_by_identity() -> None:
    frame = FakeFrame([("a", "int")])
    assert as_source(frame) == DataFrameSource(frame)
    assert hash(as_source(frame)) == hash(DataFrameSource(frame))
    assert as_source(frame) != as_source(FakeFrame([("a", "int")]))


def test_a_type_that_only_spark_knows_is_none() -> None:
    assert as_source(FakeFrame([("a", "geometry(4326)")])).columns == (Column("a", None),)


def test_an_array_is_no_name_of_a_format() -> None:
    with pytest.raises(InvalidNetworkError, match="unknown file format"):
        folder("in", np.array([1, 2]), schema="ts timestamp")  # type: ignore[arg-type]


def test_what_is_no_source_is_refused() -> None:
    sources = r"a DataFrame, folder\(...\), delta\(...\), iceberg\(...\), kafka\(...\) or rate\(...\)"
    with pytest.raises(InvalidNetworkError, match=f"a source is {sources}, got str"):
        as_source("data/packets")


def test_columns_that_spark_cannot_tell_apart_are_refused() -> None:
    with pytest.raises(InvalidNetworkError, match='"size" and "Size" have the same name'):
        as_source(FakeFrame([("size", "int"), ("Size", "int")]))


def test_formats_are_looked_up_by_name() -> None:
    assert folder("x", "text").format is FileFormat.TEXT


@pytest.mark.parametrize(
    ("kind", "name", "value", "says"),
    [
        ("json", "multiLine", "true", "can only be false .*one JSON object.*, got 'true'"),
        ("json", "wholetext", "true", "can only be false"),
        ("json", "Encoding", "UTF-16LE", "can only be UTF-8 .*iconv.*, got 'UTF-16LE'"),
        ("json", "charset", "latin1", "can only be UTF-8"),
        ("json", "mode", "FAILFAST", "can only be PERMISSIVE .*unreadable"),
        ("json", "mode", "DROPMALFORMED", "can only be PERMISSIVE"),
        ("json", "columnNameOfCorruptRecord", "bad", "cannot be given"),
        ("csv", "columnNameOfCorruptRecord", "bad", "cannot be given"),
        ("text", "multiLine", "true", "can only be false .*wholetext"),
        ("text", "encoding", "UTF-16", "can only be UTF-8"),
    ],
)
def test_options_that_would_not_be_heeded_are_refused(kind: str, name: str, value: str, says: str) -> None:
    with pytest.raises(InvalidNetworkError, match=f'folder "in": the option "{name}" of a {kind} folder {says}'):
        folder("in", kind, schema="value string", options={name: value})


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [
        ("json", "multiLine", "false"),
        ("json", "mode", "permissive"),
        ("json", "encoding", "utf-8"),
        ("json", "lineSep", "|"),
        ("csv", "multiLine", "true"),
        ("csv", "encoding", "ISO-8859-1"),
        ("csv", "mode", "DROPMALFORMED"),
        ("text", "wholetext", "true"),
    ],
)
def test_options_that_are_heeded_are_taken(kind: str, name: str, value: str) -> None:
    assert folder("in", kind, schema="value string", options={name: value}).options == ((name, value),)


@pytest.mark.parametrize("parse", [parse_json, parse_csv])
@pytest.mark.parametrize(
    ("name", "value"), [("mode", "FAILFAST"), ("encoding", "UTF-16"), ("columnNameOfCorruptRecord", "bad")]
)
def test_options_of_parsing_that_would_not_be_heeded_are_refused(
    parse: Callable[..., Parse], name: str, value: str
) -> None:
    with pytest.raises(InvalidNetworkError, match=f'parsing "value": the option "{name}" of a (json|csv) text can'):
        parse("value", "size int", options={name: value})


@pytest.mark.parametrize(
    ("options", "tells"),
    [
        ({}, True),
        ({"recursiveFileLookup": "false"}, True),
        ({"RECURSIVEFILELOOKUP": "TRUE"}, False),
        ({"pathGlobFilter": "*.json", "recursiveFileLookup": "true"}, False),
    ],
)
def test_names_of_folders_are_no_columns_where_files_are_found_at_any_depth(
    options: dict[str, str], tells: bool
) -> None:
    assert folder("in", "json", schema="day int", options=options).names_tell_columns is tells
