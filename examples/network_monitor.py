"""What goes through a network, asked seven times in overlapping ways: the network of `network_monitor.yaml` in Python.

Packets arrive as Parquet files in out/packets.

    python examples/network_monitor.py
"""

from pathlib import Path

import streamshed as ss
from streamshed.spark import local_session, parquet_sink

EXAMPLES = Path(__file__).parent
OUT = EXAMPLES.parent / "out"


def packets() -> ss.Rows:
    """Packets as they are captured; their size is -1 for all but TCP."""
    source = ss.folder(
        OUT / "packets",
        "parquet",
        schema="ts timestamp, src_host string, dest_host string, src_port int, dest_port int, size int, proto smallint",
    )
    return ss.stream("packets", source, time="ts", watermark="1 second")


def monitor(packets: ss.Rows) -> ss.QueryNetwork:
    """Return the seven queries; filters and operators that they have in common are shared."""
    hosts = ss.relation("known_hosts", str(EXAMPLES / "known_hosts.parquet"))
    tcp, udp = packets.filter("proto = 6"), packets.filter("proto = 17")
    dns = udp.filter("dest_port = 53")
    web, large = tcp.filter("dest_port IN (80, 443)"), tcp.filter("size >= 1000")
    known = tcp.semijoin(hosts, on={"src_host": "host"})
    uploads = known.filter("size >= 1000 AND src_port >= 1024")
    both = {"packets": "count(*)", "bytes": "sum(size)"}
    return ss.network(
        tcp.window("1 minute", every="10 seconds").agg(**both).query("tcp_traffic"),
        udp.window("1 minute", every="10 seconds").agg(packets="count(*)").query("udp_packets"),
        dns.window("10 minutes", every="10 seconds").agg(packets="count(*)").query("dns_packets"),
        web.window("5 minutes", every="10 seconds").agg(**both).query("web_traffic"),
        large.window("5 minutes", every="10 seconds").agg(**both).query("large_packets"),
        known.window("10 minutes", every="10 seconds").agg(bytes="sum(size)").query("known_hosts_bytes", weight=2),
        uploads.window("5 minutes", every="10 seconds").agg(**both).query("known_hosts_uploads"),
    )


def run(network: ss.QueryNetwork, name: str) -> None:
    """Run the queries until Ctrl-C, with checkpoint and answers in a folder of this name."""
    checkpoint, answers = OUT / name / "checkpoint", str(OUT / name / "answers")
    with (
        local_session(name) as spark,
        network.start(
            spark, checkpoint=checkpoint, sink=parquet_sink(answers), trigger="2 seconds", latency="5 seconds"
        ) as running,
    ):
        running.await_termination()


if __name__ == "__main__":
    run(monitor(packets()), "network_monitor")
