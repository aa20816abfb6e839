from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from streamshed.columnar.file_rows import FileRows
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
        (pa.array([1], pa.date32()), pa.timestamp("us")),
        (pa.array([1], pa.timestamp("ns", "UTC")), pa.timestamp("us", "UTC")),
        (pa.array([1], pa.timestamp("us", "UTC")), pa.timestamp("us")),
        (pa.array([[1]]), pa.int64()),
    ],
)
def test_other_types_are_refused(tmp_path: Path, column: pa.Array, declared: pa.DataType) -> None:
    pq.write_table(pa.table({"a": column}), tmp_path / "0.parquet")
    with pytest.raises(SourceMismatchError, match=r'0\.parquet": its column "A" is'):
        FileRows.of(str(tmp_path / "0.parquet"), {"A": declared})


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
    assert [part.rows for part in file.parts(run, ["new"])] == [2]
    if not is_refused:
        assert [part.columns["old"].to_pylist() for part in file.parts(run, ["old"])] == [table["old"].to_pylist()]
        return
    with pytest.raises(SourceMismatchError, match="before 1900"):
        list(file.parts(run, ["old"]))
