"""What is read of stored relations in files, format by format, with the types that their columns declare."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from pyarrow import parquet

from streamshed.errors import SourceUnavailableError
from streamshed.network.model.relation_options import csv_layout
from streamshed.network.source.sources import FileFormat
from streamshed.spark.relations.relation_reader import RelationReader
from streamshed.spark.relations.relation_table import TableReader

TEXT, WHOLE, REAL = pa.string(), pa.int32(), pa.float64()


def read(
    path: Path | str,
    schema: Mapping[str, pa.DataType],
    *,
    keys: Sequence[str] | None = None,
    options: Mapping[str, str] | None = None,
    time_zone: str = "UTC",
    brings_columns: bool = True,
) -> list[dict[str, Any]]:
    """Read the relation "hosts", whose key is its first column unless said otherwise."""
    by_ending = {"avro": FileFormat.AVRO, "csv": FileFormat.CSV, "json": FileFormat.JSON, "txt": FileFormat.TEXT}
    reader = RelationReader(
        TableReader(
            location=str(path),
            name="hosts",
            format=by_ending.get(str(path).rpartition(".")[2], FileFormat.PARQUET),
            columns=tuple(schema),
            keys=tuple(keys or list(schema)[:1]),
            layout=csv_layout(options or {}),
            time_zone=time_zone,
        ),
        brings_columns=brings_columns,
    )
    rows: list[dict[str, Any]] = reader.read(pa.schema(list(schema.items()))).to_pylist()
    return rows


def written(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def stored(path: Path, columns: Mapping[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(pa.table(dict(columns)), path)
    return path


class TestCsv:
    def test_text_stays_as_it_is_written(self, tmp_path: Path) -> None:
        path = written(tmp_path / "hosts.csv", "zip,price,flag\n00123,1.50,True\n0042,2.00,False\n")
        assert read(path, {"zip": TEXT, "price": TEXT, "flag": TEXT}) == [
            {"zip": "00123", "price": "1.50", "flag": "True"},
            {"zip": "0042", "price": "2.00", "flag": "False"},
        ]

    def test_what_is_empty_is_null_and_the_word_null_is_not(self, tmp_path: Path) -> None:
        path = written(tmp_path / "hosts.csv", 'host,size,note\na,,\nb,1,""\nc,2,null\nNA,3,NaN\n')
        assert read(path, {"host": TEXT, "size": WHOLE, "note": TEXT}) == [
            {"host": "a", "size": None, "note": None},
            {"host": "b", "size": 1, "note": None},
            {"host": "c", "size": 2, "note": "null"},
            {"host": "NA", "size": 3, "note": "NaN"},
        ]

    def test_every_type_is_read_from_text(self, tmp_path: Path) -> None:
        values = {
            "whole": ("+007", WHOLE, 7),
            "real": (" 1e3", REAL, 1000.0),
            "money": ("1.5", pa.decimal128(10, 2), Decimal("1.50")),
            "flag": ("TRUE", pa.bool_(), True),
            "day": ("2024-01-31", pa.date32(), date(2024, 1, 31)),
            "local": ("2024-01-31 12:30:00.5", pa.timestamp("us"), datetime.fromisoformat("2024-01-31T12:30:00.5")),
            "raw": ("ab", pa.binary(), b"ab"),
        }
        path = written(
            tmp_path / "hosts.csv", f"{','.join(values)}\n{','.join(text for text, _, _ in values.values())}"
        )
        (row,) = read(path, {name: kind for name, (_, kind, _) in values.items()})
        assert row == {name: value for name, (_, _, value) in values.items()}

    def test_a_time_without_a_zone_is_in_that_of_the_session(self, tmp_path: Path) -> None:
        path = written(
            tmp_path / "hosts.csv", "k,at\n1,2024-01-31 12:00:00\n2,2024-01-31T12:00:00Z\n3,2024-01-31\n4,\n"
        )
        rows = read(path, {"k": WHOLE, "at": pa.timestamp("us", "UTC")}, time_zone="Europe/Berlin")
        moments = [row["at"] and row["at"].isoformat() for row in rows]
        assert moments == [
            "2024-01-31T11:00:00+00:00",
            "2024-01-31T12:00:00+00:00",
            "2024-01-30T23:00:00+00:00",
            None,
        ]

    @pytest.mark.parametrize("time_zone", ["GMT+2", "UTC+02:00", "+0200"])
    def test_the_zone_of_the_session_may_be_an_offset(self, tmp_path: Path, time_zone: str) -> None:
        path = written(tmp_path / "hosts.csv", "at\n2024-01-31 12:00:00\n")
        (row,) = read(path, {"at": pa.timestamp("us", "UTC")}, time_zone=time_zone)
        assert row["at"].isoformat() == "2024-01-31T10:00:00+00:00"

    def test_a_separator_and_no_header(self, tmp_path: Path) -> None:
        path = written(tmp_path / "hosts.csv", "a\t01\nb\t02\n")
        rows = read(path, {"host": TEXT, "zip": TEXT}, options={"header": "false", "sep": "\\t"})
        assert rows == [{"host": "a", "zip": "01"}, {"host": "b", "zip": "02"}]

    def test_names_are_alike_in_upper_and_lower_case(self, tmp_path: Path) -> None:
        path = written(tmp_path / "hosts.csv", "HOST,Zip\na,01\n")
        assert read(path, {"host": TEXT, "zip": TEXT}, keys=["Host"]) == [{"host": "a", "zip": "01"}]

    def test_an_exact_name_comes_first(self, tmp_path: Path) -> None:
        path = written(tmp_path / "hosts.csv", "Host,host\nA,a\n")
        assert read(path, {"host": TEXT}) == [{"host": "a"}]

    def test_a_folder_is_all_its_files(self, tmp_path: Path) -> None:
        written(tmp_path / "hosts.csv" / "1.csv", "host,zip\na,01\n")
        written(tmp_path / "hosts.csv" / "2.csv", "zip,host\n02,b\n")
        for empty in ("3.csv", "_SUCCESS", ".1.csv.crc"):
            written(tmp_path / "hosts.csv" / empty, "")
        rows = read(tmp_path / "hosts.csv", {"host": TEXT, "zip": TEXT})
        assert rows == [{"host": "a", "zip": "01"}, {"host": "b", "zip": "02"}]

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("host,zip\na,12.5\n", r"""relation "hosts": ".*hosts.csv": "zip" holds '12.5', which is no int"""),
            ("host,zip\na,1\nb,x\nc,2\n", "holds 'x', which is no int"),
            ("host,zip\na,3000000000\n", "holds '3000000000', which is no int"),
            ("host,zap\na,1\n", r'has no column "zip", only: host, zap \(did you mean "zap"\?\)'),
            ("host,ZIP,Zip\na,1,2\n", 'cannot be read as csv: several columns are named "zip"'),
            ("host,zip\na,1,2\n", "cannot be read as csv: .*Expected 2 columns, got 3"),
            ("", "cannot be read as csv: Empty CSV file"),
        ],
    )
    def test_what_cannot_be_read_is_told(self, tmp_path: Path, text: str, message: str) -> None:
        path = written(tmp_path / "hosts.csv", text)
        with pytest.raises(SourceUnavailableError, match=message):
            read(path, {"host": TEXT, "zip": WHOLE})


class TestJson:
    def test_values_are_of_the_type_declared(self, tmp_path: Path) -> None:
        lines = ['{"zip": "00123", "size": 5}', '{"zip": 1.50, "size": "6"}', "", '{"zip": true, "size": null}']
        rows = read(written(tmp_path / "hosts.json", "\n".join(lines)), {"zip": TEXT, "size": WHOLE})
        assert rows == [{"zip": "00123", "size": 5}, {"zip": "1.50", "size": 6}, {"zip": "true", "size": None}]

    def test_great_numbers_and_decimals_are_exact(self, tmp_path: Path) -> None:
        path = written(tmp_path / "hosts.json", '{"k": 9223372036854775807, "money": 0.10}\n')
        rows = read(path, {"k": pa.int64(), "money": pa.decimal128(10, 2)})
        assert rows == [{"k": 2**63 - 1, "money": Decimal("0.10")}]

    def test_nested_values_and_bytes(self, tmp_path: Path) -> None:
        path = written(tmp_path / "hosts.json", '{"k": 1, "tags": [1, 2], "at": {"x": 1.5}, "raw": "AP8="}\n')
        schema = {
            "k": WHOLE,
            "tags": pa.list_(WHOLE),
            "at": pa.struct([("x", REAL)]),
            "raw": pa.binary(),
        }
        assert read(path, schema) == [{"k": 1, "tags": [1, 2], "at": {"x": 1.5}, "raw": b"\x00\xff"}]

    def test_what_no_object_has_is_null_unless_it_is_the_key(self, tmp_path: Path) -> None:
        path = written(tmp_path / "hosts.json", '{"Host": "a", "size": 1}\n')
        assert read(path, {"host": TEXT, "zip": TEXT}) == [{"host": "a", "zip": None}]
        with pytest.raises(SourceUnavailableError, match='has no column "zip", only: host, size'):
            read(path, {"zip": TEXT, "host": TEXT})

    def test_a_folder_is_all_its_files(self, tmp_path: Path) -> None:
        written(tmp_path / "hosts.json" / "1", '{"host": "a"}\n')
        written(tmp_path / "hosts.json" / "2", '{"host": "b"}\n')
        assert read(tmp_path / "hosts.json", {"host": TEXT}) == [{"host": "a"}, {"host": "b"}]

    @pytest.mark.parametrize(
        ("line", "message"),
        [
            ('{"k": 1.5}', "\"k\" holds '1.5', which is no int"),
            ("[1]", r"line 1 is no JSON object \(of another kind\), got '\[1\]'"),
            ('{"k": ', "line 1 is no JSON object .*Expecting value"),
            ('{"k": 1, "tags": "x"}', 'the column "tags" cannot be read as list'),
        ],
    )
    def test_what_cannot_be_read_is_told(self, tmp_path: Path, line: str, message: str) -> None:
        with pytest.raises(SourceUnavailableError, match=f'relation "hosts": ".*hosts.json".*{message}'):
            read(written(tmp_path / "hosts.json", line), {"k": WHOLE, "tags": pa.list_(WHOLE)})


class TestText:
    def test_lines_are_the_one_column(self, tmp_path: Path) -> None:
        path = tmp_path / "hosts.txt"
        path.write_bytes("\ufeff007\r\na\u2028b\n null\n".encode())
        assert read(path, {"line": TEXT}) == [{"line": "007"}, {"line": "a\u2028b"}, {"line": " null"}]

    def test_a_folder_is_all_its_files(self, tmp_path: Path) -> None:
        written(tmp_path / "hosts.txt" / "1", "a\n")
        written(tmp_path / "hosts.txt" / "2", "b")
        assert read(tmp_path / "hosts.txt", {"value": TEXT}) == [{"value": "a"}, {"value": "b"}]

    def test_what_is_no_text_is_told(self, tmp_path: Path) -> None:
        (tmp_path / "hosts.txt").write_bytes(b"\xff\n")
        with pytest.raises(SourceUnavailableError, match=r"cannot be read as text: .*can't decode"):
            read(tmp_path / "hosts.txt", {"value": TEXT})


class TestParquet:
    def test_names_are_alike_in_upper_and_lower_case(self, tmp_path: Path) -> None:
        path = stored(tmp_path / "hosts.parquet", {"Host": ["a"], "other": [1]})
        assert read(path, {"host": TEXT}, keys=["HOST"]) == [{"host": "a"}]

    def test_numbers_become_others_without_loss(self, tmp_path: Path) -> None:
        path = stored(tmp_path / "hosts.parquet", {"k": [1.0, 2.0], "zip": pa.array([7, 8], pa.int64())})
        assert read(path, {"k": WHOLE, "zip": TEXT}) == [{"k": 1, "zip": "7"}, {"k": 2, "zip": "8"}]

    @pytest.mark.parametrize(
        ("columns", "message"),
        [
            ({"k": [1.0, 2.5, 3.0]}, r'"k" holds 2.5, which is no int'),
            ({"k": [2**40]}, r'"k" holds 1099511627776, which is no int'),
            ({"k": [[1]]}, r'"k" is list<.*>, which cannot be read as int32'),
            ({"K2": [1]}, r'has no column "k", only: K2'),
        ],
    )
    def test_what_cannot_be_read_is_told(self, tmp_path: Path, columns: Mapping[str, Any], message: str) -> None:
        with pytest.raises(SourceUnavailableError, match=f'relation "hosts": ".*hosts.parquet".*{message}'):
            read(stored(tmp_path / "hosts.parquet", columns), {"k": WHOLE})

    def test_what_is_no_parquet_is_told(self, tmp_path: Path) -> None:
        with pytest.raises(SourceUnavailableError, match="cannot be read as parquet"):
            read(written(tmp_path / "hosts.parquet", "host\na\n"), {"host": TEXT})

    def test_folders_of_partitions_add_their_columns(self, tmp_path: Path) -> None:
        stored(tmp_path / "hosts" / "Day=1" / "area=a%2Fb" / "0.parquet", {"host": ["a", "b"]})
        stored(tmp_path / "hosts" / "Day=2" / "area=__HIVE_DEFAULT_PARTITION__" / "0.parquet", {"host": ["c"]})
        assert read(tmp_path / "hosts", {"host": TEXT, "day": WHOLE, "area": TEXT}) == [
            {"host": "a", "day": 1, "area": "a/b"},
            {"host": "b", "day": 1, "area": "a/b"},
            {"host": "c", "day": 2, "area": None},
        ]
        only_day = read(tmp_path / "hosts", {"day": WHOLE}, brings_columns=False)
        assert sorted(row["day"] for row in only_day) == [1, 2]


def of_avro(path: Path, fields: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> Path:
    schema = {"type": "record", "name": "Host", "fields": [{"name": name, "type": fields[name]} for name in fields]}
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        fastavro.writer(file, fastavro.parse_schema(schema), rows)
    return path


class TestAvro:
    def test_values_are_of_the_type_declared(self, tmp_path: Path) -> None:
        fields = {"Host": "string", "zip": "int", "odd": ["int", "string"]}
        rows = [{"Host": "a", "zip": 7, "odd": 1}, {"Host": "b", "zip": 8, "odd": "x"}]
        path = of_avro(tmp_path / "hosts.avro", fields, rows)
        assert read(path, {"host": TEXT, "zip": pa.int64()}) == [{"host": "a", "zip": 7}, {"host": "b", "zip": 8}]

    def test_a_folder_is_all_its_files(self, tmp_path: Path) -> None:
        for day in (1, 2):
            of_avro(tmp_path / "hosts.avro" / f"day={day}" / "0", {"host": "string"}, [{"host": f"h{day}"}])
        rows = read(tmp_path / "hosts.avro", {"host": TEXT, "day": WHOLE})
        assert rows == [{"host": "h1", "day": 1}, {"host": "h2", "day": 2}]

    @pytest.mark.parametrize(
        ("kind", "value", "message"),
        [
            ("long", 2**40, '"k" holds 1099511627776, which is no int'),
            (["int", "string"], "x", 'cannot be read as avro: the field "k" is a union of int and string'),
        ],
    )
    def test_what_cannot_be_read_is_told(self, tmp_path: Path, kind: Any, value: Any, message: str) -> None:
        path = of_avro(tmp_path / "hosts.avro", {"k": kind, "label": "string"}, [{"k": value, "label": "a"}])
        with pytest.raises(SourceUnavailableError, match=f'relation "hosts": ".*hosts.avro".*{message}'):
            read(path, {"k": WHOLE})
        with pytest.raises(SourceUnavailableError, match=r'has no column "lable", only: k, label .*"label"'):
            read(path, {"lable": TEXT})

    def test_what_is_no_avro_is_told(self, tmp_path: Path) -> None:
        with pytest.raises(SourceUnavailableError, match="cannot be read as avro: it does not begin as files of Avro"):
            read(written(tmp_path / "hosts.avro", "host\na\n"), {"host": TEXT})


class TestKeys:
    @pytest.mark.parametrize("name", ["hosts.csv", "hosts.json", "hosts.parquet"])
    def test_one_that_is_there_twice_is_told(self, tmp_path: Path, name: str) -> None:
        path = tmp_path / name
        match path.suffix:
            case ".csv":
                written(path, "k,zip\n1,01\n3,02\n3,03\n")
            case ".json":
                written(path, '{"k": 1, "zip": "01"}\n{"k": 3, "zip": "02"}\n{"k": 3, "zip": "03"}\n')
            case _:
                stored(path, {"k": [1, 3, 3], "zip": ["01", "02", "03"]})
        message = r'relation "hosts": 1 rows of ".*" repeat a key, such as k = 3; a lookup needs one row per key'
        with pytest.raises(SourceUnavailableError, match=message):
            read(path, {"k": WHOLE, "zip": TEXT})
        keys = read(path, {"k": WHOLE}, brings_columns=False)
        assert sorted(row["k"] for row in keys) == [1, 3]

    def test_they_are_told_apart_as_what_they_are_declared(self, tmp_path: Path) -> None:
        path = written(tmp_path / "hosts.csv", "zip,city\n7,a\n07,b\n")
        assert [row["zip"] for row in read(path, {"zip": TEXT, "city": TEXT})] == ["7", "07"]
        with pytest.raises(SourceUnavailableError, match="repeat a key, such as zip = 7"):
            read(path, {"zip": WHOLE, "city": TEXT})

    def test_rows_without_one_are_nobodys(self, tmp_path: Path) -> None:
        path = written(tmp_path / "hosts.csv", "k,zip\n,01\n,02\n1,03\n")
        assert read(path, {"k": WHOLE, "zip": TEXT}) == [{"k": 1, "zip": "03"}]


def test_what_was_read_is_kept_until_a_file_changes(tmp_path: Path) -> None:
    path = written(tmp_path / "hosts.csv", "host\na\n")
    store = TableReader(str(path), "hosts", FileFormat.CSV, ("host",), ("host",))
    reader = RelationReader(store, brings_columns=True)
    schema = pa.schema([("host", TEXT)])
    (first,), (again,) = reader.batches(schema), reader.batches(schema)
    assert first["host"].buffers()[2].address == again["host"].buffers()[2].address
    written(path, "host\nab\n")
    assert [batch.to_pylist() for batch in reader.batches(schema)] == [[{"host": "ab"}]]
