"""Packets from a topic, answers to another one: the network of `network.yaml` in Python.

python examples/kafka/network.py "$(scripts/jars.sh kafka)"
"""

import sys
from pathlib import Path

import streamshed as ss
from streamshed.spark import kafka_sink, local_session

SERVERS = "127.0.0.1:19092"
CHECKPOINT = Path(__file__).parents[2] / "out/kafka/checkpoint"


def monitored() -> ss.QueryNetwork:
    """Return the queries over the topic `packets`."""
    source = ss.kafka("packets", SERVERS, start="earliest")
    text = ss.parse_json("value", "ts timestamp, proto int, dest_port int, size int")
    packets = ss.stream("packets", source, parse=text, time="ts", watermark="5 seconds")
    tcp = packets.filter("proto = 6")
    by_port = tcp.window("10 seconds").by("dest_port")
    return ss.network(
        tcp.window("1 minute", every="10 seconds").agg(packets="count(*)", bytes="sum(size)").query("tcp_bytes"),
        by_port.agg(packets="count(*)", mean="avg(size)").query("by_port"),
        packets.window("10 seconds").agg(size="max(size)").query("largest", mode="subset", max_gap=2),
    )


def main(jars: str) -> None:
    """Run it until Ctrl-C, with Spark's connector from these jars."""
    network, sink = monitored(), kafka_sink("answers", SERVERS)
    with (
        local_session("kafka", options={"spark.jars": jars}) as spark,
        network.start(spark, checkpoint=CHECKPOINT, sink=sink, trigger="2 seconds", latency="5 seconds") as run,
    ):
        run.await_termination()


if __name__ == "__main__":
    main(sys.argv[1])
