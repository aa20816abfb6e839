"""Lines of text files that tasks read themselves: the same lines and answers as through Spark's text reader."""

from __future__ import annotations

import bz2
import gzip
import json
import random
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from streamshed.columnar.text_rows import TextRows
from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import QueryNetwork, network
from streamshed.network.model.rows import Rows
from streamshed.network.source.sources import folder
from streamshed.spark import answers
from streamshed.spark.admit.admission import Admission
from streamshed.spark.columns import file_spans
from streamshed.spark.common.internal_names import NOW, OPEN, OPENED
from streamshed.spark.compile.plan_table import PLAN_SCHEMA, plan_values
from streamshed.spark.plan.plan_columns import Plan
from streamshed.spark.plan.plan_row import StreamPlan
from streamshed.spark.source.source_frame import files_read_by_tasks, folder_frame
from streamshed.spark.windows.compiled_stream import CompiledStream, StreamSource, compile_stream
from tests.spark.sessions import interpreting

SCHEMA = "ts timestamp, host string, size int, day date"
BY_SPARK = "spark.sql.parquet.fieldId.read.enabled"
"""With this setting Spark reads files."""
PACKED: Mapping[str, Any] = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".deflate": zlib.compress}


def _text(number: int) -> bytes:
    return json.dumps(
        {"ts": f"2024-01-01T00:00:{number % 60:02d}Z", "host": f"h{number % 7}", "size": number % 1500}
    ).encode()


def _write(path: Path, letters: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pack = PACKED.get(path.suffix, bytes)
    path.write_bytes(pack(letters))


def _packets(path: Path, options: Mapping[str, str] | None = None) -> Rows:
    return stream("packets", folder(path, "json", schema=SCHEMA, options=options), time="ts", watermark="1 second")


def _network(packets: Rows) -> QueryNetwork:
    by_day = packets.window("1 minute").by(day="CAST(day AS string)", host="host").agg(n="count(*)", sizes="sum(size)")
    large = packets.filter("size > 700").window("20 seconds", every="10 seconds").agg(n="count(*)", mean="avg(size)")
    return network(by_day.query("by_day"), large.query("large"))


def by_spark(spark: SparkSession) -> SparkSession:
    session = spark.newSession()
    session.conf.set("spark.sql.codegen.wholeStage", "false")
    session.conf.set(BY_SPARK, "true")
    return session


def _answered(asked: QueryNetwork, session: SparkSession) -> list[Any]:
    rows = answers(asked, session).select("query", "kind", "window_start", "key", "aggregate", "value_text", "lower")
    return sorted(map(repr, rows.toArrow().to_pylist()))


def _compiled(spark: SparkSession, asked: QueryNetwork, admission: Admission) -> CompiledStream:
    [packets], [domain] = asked.streams, asked.time_domains
    files = files_read_by_tasks(spark, domain, [packets.name], is_streaming=False)
    source = StreamSource(folder_frame(spark, packets), files[packets.name])
    return compile_stream(packets, asked.queries, source, admission)


@pytest.fixture(scope="module")
def odd_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files of which some are packed, in folders of days; among their lines are empty, broken and long ones."""
    path, draw = tmp_path_factory.mktemp("lines") / "100% of it", random.Random(5)
    for number, ending in enumerate((*PACKED, *PACKED)):
        day = "2024-01-02" if number % 2 else "__HIVE_DEFAULT_PARTITION__"
        texts = [_text(draw.randrange(10_000)) for _ in range(1000)]
        texts += [b"", b"{", b'{"ts": "\xff"}', b" ", b'{"size": 1}', _text(1)[:-1] + b', "x": "' + b"y" * 9000 + b'"}']
        draw.shuffle(texts)
        letters = b"".join(text + draw.choice([b"\n", b"\r\n", b"\r"]) for text in texts)
        _write(path / f"day={day}" / f"{number} +.json{ending}", letters.rstrip() if number % 3 else letters)
    for name, letters in {"empty": b"", "marked": b"\xef\xbb\xbf" + _text(3), "_hidden": _text(4)}.items():
        _write(path / "day=2024-01-03" / f"{name}.json", letters)
    return path


def test_answers_are_those_of_lines_that_spark_has_read(
    spark: SparkSession, odd_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_spans, "LINES_BYTES", 20_000)
    asked = _network(_packets(odd_folder))
    session = interpreting(spark)
    compiled = _compiled(session, asked, Admission())
    assert compiled.row_by_row is None
    read = compiled.line.rows.agg(F.sum("__read_rows"), F.count("__read_rows")).collect()[0]
    assert read[0] == folder_frame(session, _packets(odd_folder).stream).count() > 8000
    assert read[1] > 1
    expected = _answered(asked, by_spark(spark))
    assert _answered(asked, session) == expected
    assert sum("unreadable" in row for row in expected) > 3


@pytest.mark.parametrize("options", [{"recursiveFileLookup": "true"}, {"pathGlobFilter": "*.json"}], ids=str)
def test_spark_finds_the_files(spark: SparkSession, odd_folder: Path, options: Mapping[str, str]) -> None:
    asked = _network(_packets(odd_folder, options))
    assert _compiled(spark, asked, Admission()).row_by_row is None
    assert _answered(asked, interpreting(spark)) == _answered(asked, by_spark(spark))


def test_lines_are_those_of_spark(spark: SparkSession, odd_folder: Path) -> None:
    session = interpreting(spark)
    for path in (path for path in odd_folder.rglob("*.json*") if not path.name.startswith("_")):
        expected = session.read.text(str(path)).select(F.expr("CAST(value AS binary)")).toArrow()["value"].to_pylist()
        file = TextRows.of(str(path), {"value": pa.string()})
        parts = [part.columns["value"] for run in file.runs(0, 1 << 40) for part in file.parts(run, ["value"])]
        assert [text for part in parts for text in part.cast(pa.binary()).to_pylist()] == expected, path


def _csv_text(number: int) -> bytes:
    return f"2024-01-01T00:00:{number % 60:02d}Z,h{number % 7},{number % 1500},".encode()


@pytest.mark.parametrize(("kind", "text"), [("json", _text), ("csv", _csv_text)], ids=["json", "csv"])
def test_a_sample_is_taken_of_lines_before_they_are_parsed(
    spark: SparkSession, tmp_path: Path, kind: str, text: Callable[[int], bytes]
) -> None:
    count = 40_000
    for number in range(2):
        _write(tmp_path / f"{number}.{kind}", b"\n".join(text(one) for one in range(count // 2)))
    packets = stream("packets", folder(tmp_path, kind, schema=SCHEMA), time="ts", watermark="1 second")
    asked = network(packets.window("1 minute").by("host").agg(n="count(*)").query("n"))
    session = interpreting(spark)
    gating = _compiled(session, asked, Admission()).work.gating
    names = [column.split()[0] for column in PLAN_SCHEMA.split(", ")]
    samples = []
    for sampling_rate in (0.1, 0.3):
        values = dict(zip(names, plan_values(StreamPlan(sampling_code=9), 0, gating), strict=True))
        values |= {"__sampling_rate": sampling_rate, "__by_level": None}
        row = session.createDataFrame([tuple(values.values())], PLAN_SCHEMA)
        plan = Plan(row.withColumns({OPENED: F.col(OPEN), NOW: F.lit(None).cast("bigint")}))
        compiled = _compiled(session, asked, Admission(plan))
        assert compiled.row_by_row is None
        rows = compiled.line.rows.select("__taken_rows", "__read_rows").toArrow()
        assert np.sum(rows["__read_rows"].drop_null().to_numpy()) == count
        samples.append(np.sum(rows["__taken_rows"].drop_null().to_numpy()))
    assert samples[0] == pytest.approx(0.1 * count, rel=0.06)
    assert samples[1] == pytest.approx(0.3 * count, rel=0.04)


def test_a_file_that_is_gone_is_an_error(spark: SparkSession, tmp_path: Path) -> None:
    _write(tmp_path / "0.json", _text(1))
    rows = answers(_network(_packets(tmp_path)), interpreting(spark))
    (tmp_path / "0.json").unlink()
    with pytest.raises(Exception, match=r"0\.json"):
        rows.collect()
