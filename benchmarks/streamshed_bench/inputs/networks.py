"""The benchmarks' queries as query networks, over typed rows and over records with JSON text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import QueryNetwork, network
from streamshed.network.model.query import Query
from streamshed.network.model.relation import Relation, relation
from streamshed.network.model.rows import Rows
from streamshed.network.source.sources import folder
from streamshed.network.terms.parsing import parse_json
from streamshed_bench.inputs.workload import SLIDE_SECONDS, PacketQuery

WATERMARK = "1 second"
PACKET_COLUMNS = (
    "ts timestamp, src_host string, dest_host string, src_port int, dest_port int, size int, proto smallint"
)
RECORD_COLUMNS = "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp"
PARSED_COLUMNS = "src_host string, dest_host string, src_port int, dest_port int, size int, proto smallint"


@dataclass(frozen=True, slots=True, kw_only=True)
class PacketSource:
    """Where packets arrive, and what they are looked up in.

    Args:
        watched: The folder of files.
        known_hosts: The file of the stored relation.
        files_per_micro_batch: At most so many; None: all that have arrived.
        format: Of the files: `parquet`, or `json` for lines of JSON.
    """

    watched: Path
    known_hosts: Path
    files_per_micro_batch: int | None = None
    format: str = "parquet"


def typed_packets(source: PacketSource) -> Rows:
    """Return the stream of examples/network_monitor.yaml: packets as typed rows."""
    files = folder(
        str(source.watched),
        source.format,
        schema=PACKET_COLUMNS,
        max_files_per_micro_batch=source.files_per_micro_batch,
    )
    return stream("packets", files, time="ts", watermark=WATERMARK)


def packet_records(source: PacketSource) -> Rows:
    """Return the stream of examples/packets_json.yaml: packets as a broker delivers them, JSON in records."""
    files = folder(
        str(source.watched),
        "parquet",
        schema=RECORD_COLUMNS,
        max_files_per_micro_batch=source.files_per_micro_batch,
    )
    return stream(
        "packets",
        files,
        time="timestamp",
        watermark=WATERMARK,
        parse=parse_json("value", PARSED_COLUMNS),
        identity=["topic", "partition", "offset"],
    )


def packet_network(packets: Rows, queries: Sequence[PacketQuery], known_hosts: Path) -> QueryNetwork:
    """Ask the queries of a stream of packets.

    Args:
        packets: `typed_packets` or `packet_records`.
        queries: What is asked.
        known_hosts: The file of the stored relation.
    """
    hosts = relation("known_hosts", str(known_hosts))
    return network(*(_query(packets, query, hosts) for query in queries))


def grouped_network(packets: Rows, keys: int) -> QueryNetwork:
    """Ask one query that falls into so many groups in each window of a minute.

    Args:
        packets: `typed_packets`.
        keys: Number of groups; rows spread evenly over them.
    """
    minutes = packets.window("1 minute").by(group=f"pmod(xxhash64(ts, src_host, dest_host), {keys})")
    return network(minutes.agg(packets="count(*)", bytes="sum(size)").query("by_group"))


def _query(packets: Rows, query: PacketQuery, hosts: Relation) -> Query:
    first, *others = query.conditions
    node: Rows = packets.filter(first)
    if query.known_senders:
        node = node.semijoin(hosts, on={"src_host": "host"})
    for condition in others:
        node = node.filter(condition)
    windows = node.window(f"{query.window_seconds} seconds", every=f"{SLIDE_SECONDS} seconds")
    return windows.agg(**query.aggregates).query(query.name, query.weight)
