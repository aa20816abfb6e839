from datetime import date, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from streamshed.columnar.file_rows import FileRows
from streamshed.columnar.texts.dictionaries import plain
from streamshed.errors import SourceMismatchError


@pytest.mark.parametrize(
    ("column", "declared"),
    [
        (pa.array([1], pa.int64()), pa.int32()),
        (pa.array([1], pa.uint32()), pa.int32()),
        (pa.array([1], pa.uint64()), pa.int64()),
        (pa.array([1.5]), pa.float32()),
        (pa.array([1]), pa.string()),
        (pa.array(["1"]), pa.int64()),
        (pa.array([1], pa.date32()), pa.timestamp("us", "UTC")),
        (pa.array([1], pa.uint32()), pa.float64()),
        (pa.array([1], pa.int64()), pa.float64()),
        (pa.array([1], pa.duration("us")), pa.timestamp("us")),
        (pa.array([1], pa.timestamp("ns", "UTC")), pa.timestamp("us", "UTC")),
        (pa.array([1], pa.timestamp("us", "UTC")), pa.timestamp("us")),
        (pa.array([[1]]), pa.int64()),
    ],
)
def test_other_types_are_refused(tmp_path: Path, column: pa.Array, declared: pa.DataType) -> None:
    pq.write_table(pa.table({"a": column}), tmp_path / "0.parquet")
    with pytest.raises(SourceMismatchError, match=r'0\.parquet": its column "A" is'):
        FileRows.of(str(tmp_path / "0.parquet"), {"A": declared})


@pytest.mark.parametrize(
    ("column", "declared", "values"),
    [
        (pa.array(["a", None], pa.string_view()), pa.string(), ["a", None]),
        (pa.array(["a", None] * 500, pa.string_view()), pa.string(), ["a", None] * 500),
        (pa.array(["ä"], pa.string_view()), pa.binary(), ["ä".encode()]),
        (pa.array([b"a", b"\xff"], pa.binary_view()), pa.binary(), [b"a", b"\xff"]),
        (pa.array([b"a", None], pa.binary_view()), pa.string(), ["a", None]),
        (pa.array([5, None], pa.duration("s")), pa.int64(), [5, None]),
        (pa.array([-5], pa.duration("us")), pa.int64(), [-5]),
        (pa.ExtensionArray.from_storage(pa.bool8(), pa.array([1, None], pa.int8())), pa.int32(), [1, None]),
        (pa.ExtensionArray.from_storage(pa.json_(), pa.array(["{}", None])), pa.string(), ["{}", None]),
    ],
)
def test_what_arrow_notes_of_types_changes_nothing(
    tmp_path: Path, column: pa.Array, declared: pa.DataType, values: list[object]
) -> None:
    pq.write_table(pa.table({"a": column}), tmp_path / "0.parquet")
    assert _read(tmp_path / "0.parquet", declared) == values


@pytest.mark.parametrize("kind", [pa.int8(), pa.int16(), pa.int32(), pa.uint8(), pa.uint16()])
def test_short_whole_numbers_are_read_as_doubles(tmp_path: Path, kind: pa.DataType) -> None:
    pq.write_table(pa.table({"a": pa.array([1, None, 127], kind)}), tmp_path / "0.parquet")
    assert _read(tmp_path / "0.parquet", pa.float64()) == [1.0, None, 127.0]


def test_days_are_read_as_their_midnights(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": pa.array([date(2024, 2, 29), None])}), tmp_path / "0.parquet")
    assert _read(tmp_path / "0.parquet", pa.timestamp("us")) == [datetime(2024, 2, 29), None]  # noqa: DTZ001 - without zone


def _read(path: Path, declared: pa.DataType) -> list[object]:
    file = FileRows.of(str(path), {"a": declared})
    [run] = file.runs(0, 10_000)
    [part] = file.parts(run, ["a"])
    column = plain(part.columns["a"])
    assert column.type == declared
    values: list[object] = column.to_pylist()
    return values


def test_two_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1], "A": [2]}), tmp_path / "0.parquet")
    with pytest.raises(SourceMismatchError, match='several columns "a"'):
        FileRows.of(str(tmp_path / "0.parquet"), {"a": pa.int64()})


@pytest.mark.parametrize(
    ("metadata", "is_refused"),
    [
        ({"org.apache.spark.version": "2.4.8"}, True),
        ({"org.apache.spark.version": "3.5.0", "org.apache.spark.legacyDateTime": ""}, True),
        ({"org.apache.spark.version": "3.5.0"}, False),
        ({"org.apache.spark.version": "10.0.0"}, False),
        ({}, False),
    ],
)
@pytest.mark.parametrize("kind", [pa.date32(), pa.timestamp("us", "UTC")])
def test_times_of_an_old_calendar_are_refused(
    tmp_path: Path, metadata: dict[str, str], is_refused: bool, kind: pa.DataType
) -> None:
    micros = pa.array([-3_000_000_000_000_000, 0], pa.timestamp("us", "UTC"))
    table = pa.table({"old": micros.cast(kind, safe=False), "new": micros.take([1, 1]).cast(kind)})
    pq.write_table(table.replace_schema_metadata(metadata), tmp_path / "0.parquet")
    file = FileRows.of(str(tmp_path / "0.parquet"), {"old": kind, "new": kind})
    [run] = file.runs(0, 10)
    assert [part.stop - part.start for part in file.parts(run, ["new"])] == [2]
    if not is_refused:
        assert [part.columns["old"].to_pylist() for part in file.parts(run, ["old"])] == [table["old"].to_pylist()]
        return
    with pytest.raises(SourceMismatchError, match="before 1900"):
        list(file.parts(run, ["old"]))
