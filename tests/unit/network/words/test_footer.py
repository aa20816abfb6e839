from pathlib import Path

import pyarrow as pa
import pytest

from streamshed.errors import SourceUnavailableError
from streamshed.network.words.footer import parquet_columns, spark_type


@pytest.mark.parametrize(
    ("arrow_type", "expected"),
    [
        (pa.int64(), "bigint"),
        (pa.uint32(), "bigint"),
        (pa.float32(), "float"),
        (pa.large_string(), "string"),
        (pa.string_view(), "string"),
        (pa.list_(pa.binary_view()), "array<binary>"),
        (pa.timestamp("us"), "timestamp_ntz"),
        (pa.timestamp("us", tz="UTC"), "timestamp"),
        (pa.decimal128(10, 2), "decimal(10,2)"),
        (pa.dictionary(pa.int32(), pa.string()), "string"),
        (pa.list_(pa.map_(pa.string(), pa.int8())), "array<map<string,tinyint>>"),
        (pa.struct([("a", pa.int32()), ("b c", pa.date32())]), "struct<`a`:int,`b c`:date>"),
        (pa.duration("us"), None),
        (pa.list_(pa.duration("us")), None),
    ],
)
def test_arrow_types_are_named_as_spark_reads_them(arrow_type: pa.DataType, expected: str | None) -> None:
    assert spark_type(arrow_type) == expected


def test_a_name_that_no_file_can_have_is_told_in_short(tmp_path: Path) -> None:
    with pytest.raises(SourceUnavailableError, match="cannot be read: File name too long") as refused:
        parquet_columns(f"{tmp_path}/{'x' * 100_000}")
    assert len(str(refused.value)) < 1_000
