import pyarrow as pa
import pytest

from streamshed.network.footer import spark_type


@pytest.mark.parametrize(
    ("arrow_type", "expected"),
    [
        (pa.int64(), "bigint"),
        (pa.uint32(), "bigint"),
        (pa.float32(), "float"),
        (pa.large_string(), "string"),
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
