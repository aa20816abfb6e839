"""The queries of `network_monitor.py` over packets as a broker delivers them: JSON text in records of Kafka's shape.

Event time is the broker's timestamp, so nothing of a record that is shed has to be parsed. Records arrive as Parquet
files in out/packets_json. `packets_json.yaml` and `packets_json.sql` say the same.

    python examples/packets_json.py
"""

from network_monitor import OUT, monitor, run

import streamshed as ss


def records() -> ss.Rows:
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


if __name__ == "__main__":
    run(monitor(records()), "packets_json_run")
