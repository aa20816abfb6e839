"""CSV files whose lines tasks read themselves: the same rows and answers as through Spark's reader of CSV."""

from __future__ import annotations

import bz2
import gzip
import random
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from streamshed.columnar import file_way
from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import QueryNetwork, network
from streamshed.network.source.sources import folder
from streamshed.spark import answers
from streamshed.spark.admit.admission import Admission
from streamshed.spark.columns import file_spans
from streamshed.spark.common.failures import explained
from streamshed.spark.source.source_frame import files_read_by_tasks, folder_frame
from streamshed.spark.windows.compiled_stream import CompiledStream, StreamSource, compile_stream
from tests.csv_samples import odd_line
from tests.spark.batch.test_lines_by_columns import by_spark
from tests.spark.sessions import interpreting

COLUMNS = {"ts": "timestamp", "host": "string", "size": "int", "day": "date"}
SCHEMA = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
HEADER = ",".join(COLUMNS).encode()
PACKED: Mapping[str, Callable[[bytes], bytes]] = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress}
OPTIONS = {"header": "true", "comment": "#"}


def _asked(path: Path, options: Mapping[str, str] | None = None) -> QueryNetwork:
    source = folder(path, "csv", schema=SCHEMA, options=OPTIONS if options is None else options)
    packets = stream("packets", source, time="ts", watermark="1 second")
    by_day = packets.window("1 minute").by(day="CAST(day AS string)", host="host").agg(n="count(*)", sizes="sum(size)")
    large = packets.filter("size > 700").window("20 seconds", every="10 seconds").agg(n="count(*)", mean="avg(size)")
    return network(by_day.query("by_day"), large.query("large"))


def _compiled(spark: SparkSession, asked: QueryNetwork) -> CompiledStream:
    [packets], [domain] = asked.streams, asked.time_domains
    files = files_read_by_tasks(spark, domain, [packets.name], is_streaming=False)
    source = StreamSource(folder_frame(spark, packets), files[packets.name])
    return compile_stream(packets, asked.queries, source, Admission())


def _answered(asked: QueryNetwork, session: SparkSession) -> list[str]:
    names = ("query", "kind", "key", "aggregate", "value_text", "lower", "reason", "rows_used")
    rows = answers(asked, session).select(F.col("window_start").cast("string"), *names)
    return sorted(map(repr, rows.toArrow().to_pylist()))


def _line(number: int) -> bytes:
    return f"2024-01-01T00:00:{number % 60:02d}Z,h{number % 7},{number % 1500},2024-01-0{1 + number % 3}".encode()


@pytest.fixture(scope="module")
def odd_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files of which some are packed; among their lines are odd ones, and such that are no rows."""
    path, draw = tmp_path_factory.mktemp("csv"), random.Random(7)
    for number, ending in enumerate((*PACKED, *PACKED)):
        lines = [_line(draw.randrange(10_000)) for _ in range(1500)]
        lines += [odd_line(COLUMNS, draw) for _ in range(100)]
        lines += [b"", b" ", b"#", b"# no row", b",,,", b"2024-01-01T00:00:00Z", HEADER] * 3
        draw.shuffle(lines)
        head = [[HEADER], [b"", b"# about", b"", HEADER.upper()], [b'"ts","host","size","day"']][number % 3]
        letters = b"".join(line + draw.choice([b"\n", b"\r\n", b"\r"]) for line in [*head, *lines])
        (path / f"{number} +.csv{ending}").write_bytes(PACKED[ending](letters.rstrip() if number % 2 else letters))
    for name, letters in {
        "empty": b"",
        "header": HEADER,
        "marked": b"\xef\xbb\xbf" + HEADER + b"\n" + _line(3),
    }.items():
        (path / f"{name}.csv").write_bytes(letters)
    return path


def test_answers_are_those_of_rows_that_spark_has_read(
    spark: SparkSession, odd_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_spans, "LINES_BYTES", 20_000)
    asked = _asked(odd_folder)
    compiled = _compiled(interpreting(spark), asked)
    assert compiled.row_by_row is None
    read = compiled.line.rows.agg(F.sum("__read_rows"), F.sum("__taken_rows"), F.count("__read_rows")).collect()[0]
    [packets] = asked.streams
    assert read[0] == folder_frame(spark, packets).count() > read[1] > 9000
    assert read[2] > 1
    session = by_spark(spark)
    assert "the session has spark.sql.parquet.fieldId" in str(_compiled(session, asked).row_by_row)
    expected = _answered(asked, session)
    assert _answered(asked, interpreting(spark)) == expected
    assert sum("unreadable" in row for row in expected) > 50


@pytest.mark.parametrize("by_columns", [True, False])
def test_a_header_that_names_other_columns_is_an_error(
    spark: SparkSession, tmp_path: Path, *, by_columns: bool
) -> None:
    (tmp_path / "0.csv").write_bytes(b"ts,host,day,size\n" + _line(1))
    session = interpreting(spark) if by_columns else by_spark(spark)
    with pytest.raises(Exception, match="CSV header does not conform") as caught:
        _answered(_asked(tmp_path), session)
    assert "write the schema as the file has them" in str(explained(caught.value))
    in_any_case = {**OPTIONS, "enforceSchema": "true"}
    assert any("'query': 'by_day'" in row for row in _answered(_asked(tmp_path, in_any_case), session))


def test_folders_that_tell_a_column_are_read_by_spark(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as Spark finds at the start; one that is found later ends the run."""
    asked, session = _asked(tmp_path), interpreting(spark)
    (tmp_path / "day=2024-01-05").mkdir()
    (tmp_path / "day=2024-01-05" / "0.csv").write_bytes(b"ts,host,size\n2024-01-01T00:00:00Z,a,9")
    assert str(_compiled(session, asked).row_by_row).startswith('the folder "day=2024-01-05" tells a column')
    told = [row for row in _answered(asked, session) if "by_day" in row]
    assert len(told) == 2
    assert all("['2024-01-05', 'a']" in row for row in told)
    monkeypatch.setattr(file_way, "_folder_of_a_value", lambda _stream: None)
    with pytest.raises(Exception, match=r"below a folder that tells a column") as caught:
        _answered(asked, session)
    assert "start again from the checkpoint, then Spark reads the files" in str(explained(caught.value))
