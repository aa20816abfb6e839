"""Tasks read topics only if the workers' Python can, too: they are asked before a run starts."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import network
from streamshed.network.source.kafka_source import kafka
from streamshed.network.terms.parsing import parse_json
from streamshed.spark.admit.admission import Admission
from streamshed.spark.cluster import warm_workers
from streamshed.spark.source.carrier import carrier_frame
from streamshed.spark.source.source_frame import empty_frame
from streamshed.spark.windows.compiled_stream import CompiledStream, StreamSource, compile_stream

_PYTHON = """#!/bin/sh
PYTHONPATH="{folder}:$PYTHONPATH" exec "{python}" "$@"
"""


def _compiled(spark: SparkSession) -> CompiledStream:
    rows = stream("packets", kafka("packets", "h:1"), time="timestamp", parse=parse_json("value", "size int"))
    query = rows.window("1 second").agg(n="sum(size)").query("q")
    [packets] = network(query).streams
    return compile_stream(
        packets, [query], StreamSource(empty_frame(spark, packets), carrier_frame(spark)), Admission()
    )


def _python(folder: Path, *, has_client: bool) -> str:
    """A program that is this Python, with or without the client."""
    (folder / "sitecustomize.py").write_text(
        "" if has_client else "import sys\nsys.modules['confluent_kafka'] = None\n"
    )
    program = folder / "python"
    program.write_text(_PYTHON.format(folder=folder, python=sys.executable))
    program.chmod(0o755)
    return str(program)


@pytest.mark.parametrize("has_client", [True, False])
def test_where_workers_lack_the_client_spark_reads(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, has_client: bool
) -> None:
    monkeypatch.setattr(warm_workers, "_BEGUN", {})
    monkeypatch.setattr(spark.sparkContext, "pythonExec", _python(tmp_path, has_client=has_client))
    compiled = _compiled(spark)
    assert (compiled.row_by_row, compiled.reads_topics) == (None, has_client)
    said = warm_workers.obstacle_to_topics(spark, "packets")
    assert (f"not installed where tasks run: {sys.executable} on " in said) is not has_client
