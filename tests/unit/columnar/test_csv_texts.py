"""Which lines of CSV are surely what Spark reads, and which options leave all of them to Spark."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from streamshed.columnar.row_ways import row_ways
from streamshed.columnar.texts.csv_texts import CsvTexts
from streamshed.columnar.texts.parsed_texts import ParsedTexts
from streamshed.columnar.untranslatable import Untranslatable
from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import network
from streamshed.network.source.sources import folder
from streamshed.network.terms.parsing import parse_csv

SCHEMA = pa.schema([("host", pa.string()), ("size", pa.int32()), ("load", pa.float64())])


def _read(*lines: bytes | None, **options: str) -> ParsedTexts:
    return CsvTexts.of(SCHEMA, options, "UTC").read(pa.array(lines, pa.binary()))


@pytest.mark.parametrize(
    ("line", "values"),
    [
        (b"a,1,2.5", ("a", 1, 2.5)),
        (b" a ,-1,0", (" a ", -1, 0.0)),
        (b",,", (None, None, None)),
        (b'"a b","12","0.5"', ("a b", 12, 0.5)),
        ("ä,1,1".encode(), ("ä", 1, 1.0)),
    ],
)
def test_plain_values_are_sure(line: bytes, values: tuple[object, ...]) -> None:
    parsed = _read(line)
    assert parsed.is_sure.all()
    assert tuple(parsed.columns.to_pylist()[0].values()) == values


@pytest.mark.parametrize(
    "line",
    [
        *(
            None,
            b"",
            b" ",
            b"a,1",
            b"a,1,2,3",
            b"a, 1,2",
            b"a,1 ,2",
            b"a,+1,2",
            b"a,007,2",
            b"a,1.0,2",
            b"a,2147483648,2",
        ),
        *(b"a,1,1e3", b"a,1,NaN", b"a,1,.5", b"a,1,1d", b"a,0x1,2", b"\xff,1,2", b"a\x00,1,2", b"a\\b,1,2", b'a"b,1,2'),
        *(b'"a,1,2', b'"a""b",1,2', b'"a,b",1', b'"",1,2', b' "a",1,2', b'"a" ,1,2', b'"a","1,2', b'"a"b",1,"2'),
    ],
)
def test_other_lines_are_left_to_spark(line: bytes | None) -> None:
    assert _read(b"a,1,2.5", line, b",,").is_sure.tolist() == [True, False, True]


def test_options_say_how_lines_are_written() -> None:
    parsed = _read(b"NA|7|NA", b"#|7|1", b" |7|1", sep="|", nullValue="NA", comment="#")
    assert parsed.is_sure.tolist() == [True, False, False]
    assert parsed.columns.to_pylist()[0] == {"host": None, "size": 7, "load": None}
    trimmed = _read(b" a,1,2", b"a,1,2", ignoreLeadingWhiteSpace="true")
    assert trimmed.is_sure.tolist() == [False, True]


def test_no_lines_are_no_rows() -> None:
    assert _read().columns.num_rows == 0
    assert np.array_equal(_read().is_sure, [])


OTHERS = {
    "quote": "'",
    "sep": "||",
    "escape": "^",
    "lineSep": "\n",
    "nanValue": "0",
    "timestampFormat": "dd.MM.yyyy",
    "multiLine": "true",
    "locale": "de",
    "maxColumns": "3",
    "unescapedQuoteHandling": "SKIP_VALUE",
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_options_are_for_spark(name: str) -> None:
    with pytest.raises(Untranslatable, match=f'the option "{name}" of lines of CSV'):
        _read(b"a,1,2", **{name: OTHERS[name]})


def _reason(schema: str = "ts timestamp, size int", **options: str) -> str | None:
    packets = stream("packets", folder("in", "csv", schema=schema, options=options), time="ts")
    return row_ways(network(packets.window("1 minute").agg(n="count(*)").query("n")))["packets"]


def test_it_is_said_why_spark_reads_the_files() -> None:
    assert _reason(header="true", sep=";", enforceSchema="false", pathGlobFilter="*.csv") is None
    assert _reason(multiLine="true") == 'the option "multiLine" of lines of CSV is for Spark'
    assert _reason(header="yes") == 'the option "header" of CSV files is for Spark'
    other = "an option of their files lets a row be something else than a line"
    assert _reason(encoding="UTF-16") == _reason(mode="DROPMALFORMED") == other
    assert "decimal" in str(_reason("ts timestamp, size decimal(9,2)"))


def test_folders_may_tell_columns(tmp_path: Path) -> None:
    (tmp_path / "day=1").mkdir()
    assert _of_folder(tmp_path).startswith('the folder "day=1" tells a column')
    assert _of_folder(tmp_path / "*").startswith('the folder "day=1" tells a column')
    assert _of_folder(tmp_path, recursiveFileLookup="true") == "None"


def _of_folder(path: Path, **options: str) -> str:
    source = folder(path, "csv", schema="ts timestamp, size int", options=options)
    packets = stream("packets", source, time="ts").window("1 minute").agg(n="count(*)")
    return str(row_ways(network(packets.query("n")))["packets"])


def test_lines_in_other_sources_go_by_columns() -> None:
    source = folder("in", "parquet", schema="line string, at timestamp, id bigint")
    lines = stream("lines", source, time="at", parse=parse_csv("line", "size int"), identity=["id"])
    assert row_ways(network(lines.window("1 minute").agg(n="sum(size)").query("n"))) == {"lines": None}
