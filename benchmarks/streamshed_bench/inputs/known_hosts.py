"""The stored relation that the benchmarks look senders up in: that of examples/network_monitor.yaml."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

_OF_THE_CAPTURES = (
    *("10.200.1.18", "10.50.1.54", "192.168.0.18", "192.168.0.42", "10.0.2.15", "10.50.1.10", "10.9.0.117"),
    *("192.168.116.172", "10.50.1.20", "10.200.1.252", "192.168.0.20", "10.200.1.45", "192.168.0.241"),
    *("192.168.0.60", "192.168.100.7", "10.99.99.100", "192.168.116.138", "192.168.0.22", "10.200.1.162"),
    *("10.50.1.52", "10.200.1.231", "192.168.100.122", "10.1.75.4", "192.168.56.102"),
)
_OF_MADE_UP_PACKETS = tuple(f"10.0.0.{number}" for number in range(1, 25))

KNOWN_HOSTS: tuple[str, ...] = (*_OF_THE_CAPTURES, *_OF_MADE_UP_PACKETS)
"""Hosts of recorded packets and of `traces.packets`, so that either has known senders."""


def write_known_hosts(path: Path) -> Path:
    """Write the relation, one column `host`, as Parquet; returns the path."""
    pq.write_table(pa.table({"host": KNOWN_HOSTS}), path)
    return path
