"""Largest packets and busiest hosts, exactly or not at all: the network of `extremes.yaml` in Python.

Under overload whole windows are dropped, no more in a row than `max_gap` says, beside a count that is answered from a
sample. Records arrive as Parquet files in out/packets_json.

    python examples/extremes.py
"""

from packets_json import records

import streamshed as ss


def extremes(packets: ss.Rows) -> ss.QueryNetwork:
    """Return the queries."""
    tcp, udp = packets.filter("proto = 6"), packets.filter("proto = 17")
    by_port = tcp.window("10 seconds").by("dest_port").agg(largest="max(size)", smallest="min(size)")
    return ss.network(
        by_port.query("largest_by_port", mode="subset", max_gap="1 minute"),
        tcp.window("1 second").agg(largest="max(size)").query("largest", mode="subset", max_gap=10),
        udp.window("1 minute", every="10 seconds").agg(packets="count(*)").query("udp_packets"),
    )


if __name__ == "__main__":
    print(extremes(records()).explain(load=3))
