"""The queries of `network_monitor.py` over packets as a broker delivers them: JSON text in records of Kafka's shape.

Event time is the broker's timestamp, so nothing of a record that is shed has to be parsed. Records arrive as Parquet
files in out/packets_json. `packets_json.yaml` and `packets_json.sql` say the same.

    python examples/packets_json.py
"""

from network_monitor import OUT, monitor

import streamshed as ss
from streamshed.spark import local_session, parquet_sink


def records() -> ss.Stream:
    """Packets, each as JSON in a record; their size is -1 for all but TCP."""
    source = ss.folder(
        OUT / "packets_json",
        "parquet",
        schema="key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp",
    )
    text = ss.parse_json(
        "value", "src_host string, dest_host string, src_port int, dest_port int, size int, proto smallint"
    )
    identity = ["topic", "partition", "offset"]
    return ss.stream("packets", source, parse=text, time="timestamp", watermark="1 second", identity=identity)


def main() -> None:
    """Run it until Ctrl-C."""
    network = monitor(records())
    checkpoint, answers = OUT / "packets_json_run/checkpoint", str(OUT / "packets_json_run/answers")
    with (
        local_session("packets_json") as spark,
        network.start(
            spark, checkpoint=checkpoint, sink=parquet_sink(answers), trigger="2 seconds", latency="5 seconds"
        ) as run,
    ):
        run.await_termination()


if __name__ == "__main__":
    main()
