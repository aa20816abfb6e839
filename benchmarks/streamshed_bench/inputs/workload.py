"""The queries of the benchmarks, said once: the seven of examples/network_monitor.yaml, and variants of them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from streamshed_bench.inputs.known_hosts import KNOWN_HOSTS

SLIDE_SECONDS = 10
"""How far apart the windows of all queries start."""

_WINDOWS_SECONDS = (60, 300, 600)


@dataclass(frozen=True, slots=True, kw_only=True)
class PacketQuery:
    """One ungrouped query over packets, for every engine that is compared.

    Args:
        name: Its name.
        conditions: SQL that every engine understands; a row has to pass all of it.
        known_senders: Whether `src_host` has to stand in the stored relation.
        window_seconds: Size of its windows, which start every `SLIDE_SECONDS`.
        aggregates: SQL by name.
        weight: How much its error counts.
    """

    name: str
    conditions: tuple[str, ...]
    window_seconds: int
    aggregates: Mapping[str, str]
    known_senders: bool = False
    weight: float = field(default=1.0)


_PACKETS = {"packets": "count(*)"}
_BYTES = {"bytes": "sum(size)"}

SEVEN_QUERIES: tuple[PacketQuery, ...] = (
    PacketQuery(name="tcp_traffic", conditions=("proto = 6",), window_seconds=60, aggregates=_PACKETS | _BYTES),
    PacketQuery(name="udp_packets", conditions=("proto = 17",), window_seconds=60, aggregates=_PACKETS),
    PacketQuery(
        name="dns_packets",
        conditions=("proto = 17", "dest_port = 53"),
        window_seconds=600,
        aggregates=_PACKETS,
    ),
    PacketQuery(
        name="web_traffic",
        conditions=("proto = 6", "dest_port IN (80, 443)"),
        window_seconds=300,
        aggregates=_PACKETS | _BYTES,
    ),
    PacketQuery(
        name="large_packets",
        conditions=("proto = 6", "size >= 1000"),
        window_seconds=300,
        aggregates=_PACKETS | _BYTES,
    ),
    PacketQuery(
        name="known_hosts_bytes",
        conditions=("proto = 6",),
        known_senders=True,
        window_seconds=600,
        aggregates=_BYTES,
        weight=2.0,
    ),
    PacketQuery(
        name="known_hosts_uploads",
        conditions=("proto = 6", "size >= 1000", "src_port >= 1024"),
        known_senders=True,
        window_seconds=300,
        aggregates=_PACKETS | _BYTES,
    ),
)
"""The queries of examples/network_monitor.yaml."""


def packet_queries(count: int) -> tuple[PacketQuery, ...]:
    """Return so many different queries: the seven first, then variants of them in turn.

    Variants differ in ports, sizes, hosts and windows (1, 5 and 10 minutes); none asks what another does.

    Args:
        count: How many, at most 7 · 100.

    Raises:
        ValueError: There are not so many variants.

    Example:
        >>> [query.name for query in packet_queries(9)][6:]
        ['known_hosts_uploads', 'tcp_traffic_1', 'udp_packets_1']
        >>> packet_queries(8)[7].conditions
        ('proto = 6', 'dest_port < 1624')
    """
    templates = len(SEVEN_QUERIES)
    if not 0 < count <= 100 * templates:
        raise ValueError(f"there are at most {100 * templates} packet queries, and at least 1, got {count}")
    return tuple(_variant(SEVEN_QUERIES[index % templates], index // templates) for index in range(count))


def _variant(template: PacketQuery, number: int) -> PacketQuery:
    if number == 0:
        return template
    first, *_ = template.conditions
    return replace(
        template,
        name=f"{template.name}_{number}",
        conditions=(first, *_VARIED_CONDITIONS[template.name](number)),
        window_seconds=_WINDOWS_SECONDS[number % len(_WINDOWS_SECONDS)],
    )


def _known_host_conditions(number: int) -> tuple[str, ...]:
    rounds, host = divmod(number, len(KNOWN_HOSTS))
    return (f"dest_host <> '{KNOWN_HOSTS[host]}'", f"dest_port >= {500 * rounds}")


_VARIED_CONDITIONS: Mapping[str, Callable[[int], tuple[str, ...]]] = {
    "tcp_traffic": lambda number: (f"dest_port < {1024 + 600 * number}",),
    "udp_packets": lambda number: (f"src_port >= {512 + 600 * number}",),
    "dns_packets": lambda number: (f"dest_port IN ({53 + number}, {47_807 + number})",),
    "web_traffic": lambda number: (f"dest_port IN ({80 + number}, {443 + number}, {44_817 + number})",),
    "large_packets": lambda number: (f"size >= {40 + 14 * number}",),
    "known_hosts_bytes": _known_host_conditions,
    "known_hosts_uploads": lambda number: (
        f"size >= {100 + 10 * number}",
        f"src_port >= {1024 + 100 * number}",
    ),
}
"""What replaces the conditions of a template behind its first, by the number of the variant."""
