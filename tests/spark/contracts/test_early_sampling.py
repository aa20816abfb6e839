"""Spark leaves the sampler where it was put: below parsing, unless what identifies a row is in the text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from streamshed.network.model.declared_stream import stream
from streamshed.network.model.stream import Stream
from streamshed.network.source.sources import folder
from streamshed.sharing.gating import Gating
from streamshed.spark.admit.admission import Admission
from streamshed.spark.admit.sampled_rows import sampled_rows
from streamshed.spark.common.internal_names import NOW, OPEN, OPENED
from streamshed.spark.compile.plan_table import PLAN_SCHEMA, plan_values
from streamshed.spark.plan.plan_columns import Plan
from streamshed.spark.plan.plan_row import StreamPlan
from streamshed.spark.source.source_frame import folder_frame
from tests.spark.contracts.broker_records import COLUMNS, broker_records


def _lines_of_plan(spark: SparkSession, known: Stream) -> list[str]:
    """What is done to a row, last first."""
    rows = sampled_rows(folder_frame(spark, known), known, Admission(_plan(spark)))
    query: Any = rows._jdf.queryExecution()  # noqa: SLF001 - plans have no public way
    lines: list[str] = query.optimizedPlan().toString().splitlines()
    return lines


def _plan(spark: SparkSession) -> Plan:
    row = spark.createDataFrame([plan_values(StreamPlan(sampling_code=9), 0, Gating((), {}, ()))], PLAN_SCHEMA)
    return Plan(row.withColumns({OPENED: F.col(OPEN), NOW: F.lit(None).cast("bigint")}))


def _place(lines: list[str], word: str) -> int:
    [place, *_] = [number for number, line in enumerate(lines) if word in line]
    return place


def _sampler(lines: list[str], word: str) -> int:
    [place] = [number for number, line in enumerate(lines) if "Filter" in line and word in line]
    return place


@pytest.mark.parametrize("identity", [["topic", "partition", "offset"], "file_row"])
def test_what_is_shed_is_not_parsed(spark: SparkSession, tmp_path: Path, identity: str | list[str]) -> None:
    lines = _lines_of_plan(spark, broker_records(tmp_path, "ts", identity).stream)
    sampler = _sampler(lines, "xxhash64")
    assert "from_json" not in lines[sampler]
    assert _place(lines, "from_json") < sampler


def test_what_is_shed_of_a_folder_of_json_is_not_parsed(spark: SparkSession, tmp_path: Path) -> None:
    lines = _lines_of_plan(spark, stream("lines", folder(tmp_path, "json", schema=COLUMNS), time="ts").stream)
    assert _place(lines, "from_json") < _sampler(lines, "xxhash64")


def test_what_identifies_a_row_is_parsed_first(spark: SparkSession, tmp_path: Path) -> None:
    lines = _lines_of_plan(spark, broker_records(tmp_path, "timestamp", ["id"]).stream)
    sampler = _sampler(lines, "xxhash64")
    assert any("from_json" in line for line in lines[sampler:])
