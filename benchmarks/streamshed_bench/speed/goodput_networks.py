"""The networks of the benchmark `goodput`: what they read, what they ask, and which of it DuckDB answers, too."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq

from streamshed.cli.demo.workload import demo_network
from streamshed.network.model.network import QueryNetwork
from streamshed.network.model.rows import Rows
from streamshed.traces.kafka_shape import KafkaShape
from streamshed.traces.packet_headers import host_table
from streamshed.traces.packets import PacketTraffic
from streamshed.traces.trace import Trace
from streamshed_bench.contract import BenchOptions
from streamshed_bench.inputs.known_hosts import write_known_hosts
from streamshed_bench.inputs.networks import PacketSource, packet_network, packet_records, typed_packets
from streamshed_bench.inputs.packet_input import packet_trace
from streamshed_bench.inputs.rides import REVENUE, fares_network, ride_trace
from streamshed_bench.inputs.workload import SEVEN_QUERIES, SLIDE_SECONDS, PacketQuery

_RECORDS = KafkaShape(topic="packets", key="src_host", partitions=4)
_DEMO_SLIDE_SECONDS = 5
_SUMS = {"packets": "count(*)", "bytes": "sum(size)"}
_OF_DEMO = (
    PacketQuery(name="tcp", conditions=("proto = 6",), window_seconds=20, aggregates=_SUMS),
    PacketQuery(name="udp", conditions=("proto = 17",), window_seconds=10, aggregates={"packets": "count(*)"}),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GoodputNetwork:
    """A network.

    Args:
        trace: Returns the rows that are repeated.
        shape: Rows are records of a topic; None: they are typed.
        hosts: Writes the relation that is looked up in.
        network: Returns the network over a folder, with that relation.
        compared: Queries whose answers are compared with DuckDB's.
        slide_seconds: How far apart their windows start.
        count: The aggregate of these that counts rows.
    """

    trace: Callable[[BenchOptions], Trace]
    shape: KafkaShape | None = None
    hosts: Callable[[Path], Path] = write_known_hosts
    network: Callable[[Path, Path], QueryNetwork]
    compared: Sequence[PacketQuery]
    slide_seconds: int = SLIDE_SECONDS
    count: str = "packets"


def _of_packets(packets: Callable[[PacketSource], Rows]) -> Callable[[Path, Path], QueryNetwork]:
    def network(watched: Path, hosts: Path) -> QueryNetwork:
        return packet_network(packets(PacketSource(watched=watched, known_hosts=hosts)), SEVEN_QUERIES, hosts)

    return network


def _write_hosts(path: Path) -> Path:
    pq.write_table(host_table(PacketTraffic(rows_per_second=1.0, span_seconds=1.0).hosts), path)
    return path


GOODPUT_NETWORKS: Mapping[str, GoodputNetwork] = {
    "demo": GoodputNetwork(
        trace=packet_trace,
        shape=_RECORDS,
        hosts=_write_hosts,
        network=demo_network,
        compared=_OF_DEMO,
        slide_seconds=_DEMO_SLIDE_SECONDS,
    ),
    "network_monitor": GoodputNetwork(trace=packet_trace, network=_of_packets(typed_packets), compared=SEVEN_QUERIES),
    "packets_json": GoodputNetwork(
        trace=packet_trace, shape=_RECORDS, network=_of_packets(packet_records), compared=SEVEN_QUERIES
    ),
    "fares": GoodputNetwork(
        trace=lambda options: ride_trace(options.seed),
        network=lambda watched, _: fares_network(watched),
        compared=(REVENUE,),
        count="rides",
    ),
}
"""By name."""
