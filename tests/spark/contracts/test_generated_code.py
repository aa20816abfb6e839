"""No method that Spark generates for a row's way is too large for HotSpot to compile, however many the queries."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import network
from streamshed.network.source.sources import folder
from streamshed.spark.checkpoint.storage import Storage
from streamshed.spark.cluster.session import settings_for_queries
from streamshed.spark.common.internal_names import BY_LEVEL, PASSES, PLAN, SAMPLING_RATE
from streamshed_bench.inputs.networks import PacketSource, packet_network, typed_packets
from streamshed_bench.inputs.workload import packet_queries
from tests.spark.event_times import at
from tests.spark.files import write_parquet
from tests.spark.harness import QUICK, Collected, wait_for_micro_batch
from tests.thoroughness import thorough

ONCE = {**QUICK, "trigger": "10 minutes"}
"""Settings under which the micro-batch with the row is still the last one when it is looked at."""

LARGEST_COMPILED = 8000
"""Bytecodes; a larger method is interpreted for ever (HotSpot's HugeMethodLimit)."""


SCHEMA = pa.schema(
    {
        "ts": pa.timestamp("us", "UTC"),
        "src_host": pa.string(),
        "dest_host": pa.string(),
        "src_port": pa.int32(),
        "dest_port": pa.int32(),
        "size": pa.int32(),
        "proto": pa.int16(),
    }
)
PACKET = (at(0), "a", "b", 1, 80, 100, 6)


@pytest.mark.parametrize("count", [pytest.param(7, marks=thorough), 70])
def test_generated_methods_can_be_compiled_and_what_a_row_passes_is_computed_once(
    spark: SparkSession, tmp_path: Path, count: int
) -> None:
    write_parquet(tmp_path / "in" / "0.parquet", pa.Table.from_arrays([[value] for value in PACKET], schema=SCHEMA))
    write_parquet(tmp_path / "hosts.parquet", pa.table({"host": ["a"]}))
    source = PacketSource(watched=tmp_path / "in", known_hosts=tmp_path / "hosts.parquet")
    queries = packet_network(typed_packets(source), packet_queries(count), tmp_path / "hosts.parquet")
    session = spark.newSession()
    session.conf.set("spark.sql.codegen.wholeStage", "true")  # else a micro-batch of few rows is interpreted
    with queries.start(session, checkpoint=str(tmp_path / "checkpoint"), sink=Collected(), **ONCE) as run:
        wait_for_micro_batch(run, 0)
        [query] = session.streams.active
        executed = query._jsq.streamingQuery().lastExecution().executedPlan()  # noqa: SLF001
        largest, plan = list(_largest_methods(session, executed)), _executed_plan(query)
    assert len(largest) >= 4, "the way of a row, slices, windows"
    assert min(largest) > 0
    assert max(largest) <= LARGEST_COMPILED
    assert PASSES in plan
    filters = [line for line in plan.splitlines() if " Filter " in line]
    assert filters
    assert not [line for line in filters if PASSES in line], "Spark inferred a filter on a mask that could be null"


@pytest.mark.parametrize("count", [1, 7, 20])
def test_generated_methods_of_nested_chains_can_be_compiled(spark: SparkSession, tmp_path: Path, count: int) -> None:
    """What answers say to those above them grows with these, and is no one method."""
    source = folder("/nowhere", "parquet", schema="ts timestamp, host string, v bigint")
    packets = stream("packets", source, time="ts", identity="none")
    queries = []
    for number in range(count):
        below = packets.filter(f"v % {number + 2} = 0").window("1 second").by("host")
        above = below.agg(a=f"sum(v + {number})", b="avg(v)").window(f"{number + 2} seconds").by("host")
        queries.append(above.agg(c="max(a)", d="avg(b)").query(f"chain_{number}"))
    rows = spark.createDataFrame([(at(0), "a", 1)], "ts timestamp, host string, v bigint")
    with settings_for_queries(spark, 1, Storage.at(str(tmp_path))):
        answers = network(*queries).answers(spark, {"packets": rows})
        largest = list(_largest_methods(spark, answers._jdf.queryExecution().executedPlan()))  # noqa: SLF001
    assert len(largest) >= 4, "the way of a row, slices, windows, answers of answers"
    assert min(largest) > 0, "one is beyond what a method may have at all, 64 KB"
    _of_rows, *of_answers = largest
    assert max(of_answers) <= LARGEST_COMPILED


def test_rows_that_are_never_sampled_meet_no_sampler(spark: SparkSession, tmp_path: Path) -> None:
    is_sampled = {"approximate": True, "exact": False, "subset": False}
    queries = []
    for mode in is_sampled:
        write_parquet(tmp_path / mode / "0.parquet", pa.Table.from_arrays([[value] for value in PACKET], schema=SCHEMA))
        source = folder(tmp_path / mode, "parquet", schema="ts timestamp, size int")
        counted = stream(mode, source, time="ts").filter("size > 0").window("1 second").agg(n="count(*)")
        queries.append(counted.query(f"of_{mode}", mode=mode))
    asked = network(*queries)
    with asked.start(spark, checkpoint=str(tmp_path / "checkpoint"), sink=Collected(), **ONCE) as run:
        wait_for_micro_batch(run, 0)
        [query] = spark.streams.active
        plan = _executed_plan(query)
    for number, of in enumerate(asked.streams):
        names = (f"stream_{number}_{name}" for name in (SAMPLING_RATE, BY_LEVEL))
        reads = [re.search(rf"{PLAN}#\d+\.{name}\b", plan) is not None for name in names]
        assert reads == [is_sampled[of.name]] * 2, of.name


def _executed_plan(query: Any) -> str:
    return str(query._jsq.streamingQuery().lastExecution().executedPlan().toString())  # noqa: SLF001


def _largest_methods(spark: SparkSession, plan: Any) -> Iterator[int]:
    """The size of the largest method of each generated stage of a plan, −1 of one that cannot be; Spark's names."""
    jvm: Any = spark.sparkContext._jvm  # noqa: SLF001 - generated code has no public way
    debug = getattr(getattr(jvm.org.apache.spark.sql.execution.debug, "package$"), "MODULE$")
    stages = debug.codegenStringSeq(plan)
    for number in range(stages.size()):
        yield int(stages.apply(number)._3().maxMethodCodeSize())  # noqa: SLF001 - a tuple of Scala
