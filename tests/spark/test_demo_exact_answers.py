"""The demo's yardstick, written for plain Spark, asks what its network asks."""

from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from streamshed.cli.demo.answers import paired
from streamshed.cli.demo.exact_answers import CollectedAnswers, exact_values
from streamshed.cli.demo.exact_sql import EXACT_SQL
from streamshed.cli.demo.workload import demo_network
from streamshed.traces.kafka_shape import KafkaShape
from streamshed.traces.load_profile import constant_load
from streamshed.traces.packet_headers import host_table
from streamshed.traces.packets import PacketTraffic, generate_packets
from streamshed.traces.stage import StagingOptions, stage
from streamshed.traces.trace import trace_of

SECOND = 1_000_000
ROWS = 20_000


def test_network_and_plain_queries_agree(spark: SparkSession, tmp_path: Path) -> None:
    traffic = PacketTraffic(rows_per_second=1000, span_seconds=20, seed=3)
    trace = trace_of(generate_packets(traffic))
    pq.write_table(host_table(traffic.hosts), tmp_path / "hosts.parquet")
    for shape, name in ((KafkaShape(topic="packets", key="src_host"), "records"), (None, "rows")):
        stage(
            trace,
            constant_load(20 * SECOND),
            rows_per_second=ROWS / 20,
            watched=tmp_path / "watched",
            options=StagingOptions(shape=shape, folder=tmp_path / name, interval_microseconds=10 * SECOND),
        )
    network = demo_network(tmp_path / "records", tmp_path / "hosts.parquet")
    given = CollectedAnswers()
    records = spark.read.parquet(*map(str, (tmp_path / "records").glob("*.parquet")))
    given(network.answers(spark, {"packets": records}), 0)
    truths = list(exact_values(spark, tmp_path / "rows", tmp_path / "hosts.parquet"))
    pairs = paired(truths, given.answers)
    assert {pair.truth.query for pair in pairs} == set(EXACT_SQL)
    assert [pair for pair in pairs if not (pair.is_exact and pair.is_right)] == []
    assert len(given.answers) == len(truths)
