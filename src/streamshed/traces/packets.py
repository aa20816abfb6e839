"""A made-up packet stream: bursty at every scale, with heavy-tailed sizes, the same for the same seed."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from streamshed.traces.errors import InvalidTraceError
from streamshed.traces.packet_headers import TCP, PacketHeaders, draw_headers
from streamshed.traces.self_similar import OnOffSources, load_of_sources
from streamshed.traces.trace import TIME_TYPE

PACKET_SCHEMA = pa.schema(
    [
        pa.field("ts", TIME_TYPE),
        pa.field("src_host", pa.string()),
        pa.field("dest_host", pa.string()),
        pa.field("src_port", pa.int32()),
        pa.field("dest_port", pa.int32()),
        pa.field("size", pa.int32()),
        pa.field("proto", pa.int16()),
    ]
)

_INTERVAL_SECONDS = 0.01
_ROWS_PER_PIECE = 500_000
_SLOTS = 1 << 16
_SALT = 0x7061636B
_SMALLEST_SIZE, _LARGEST_SIZE, _SIZE_TAIL = 40, 65_535, 1.2
_ACKNOWLEDGEMENT_SHARE = 0.4


@dataclass(frozen=True, slots=True, kw_only=True)
class PacketTraffic:
    """A stream of packets.

    Args:
        rows_per_second: Mean, above 0.
        span_seconds: How long the stream lasts, at least 0.01.
        seed: Equal seeds give equal packets.
        start_microseconds: Time of the start, in microseconds since 1970.
        hosts: Number of hosts, at least 2.
        flows: Number of flows, at least 1.
        sources: What makes the arrivals bursty.

    Raises:
        InvalidTraceError: A value is outside its range.
    """

    rows_per_second: float
    span_seconds: float
    seed: int = 0
    start_microseconds: int = 1_735_689_600_000_000
    hosts: int = 1_000
    flows: int = 20_000
    sources: OnOffSources = field(default_factory=OnOffSources)

    def __post_init__(self) -> None:
        if not 0 < self.rows_per_second < math.inf:
            raise InvalidTraceError(f"packets need rows per second above 0, got {self.rows_per_second}")
        if not _INTERVAL_SECONDS <= self.span_seconds < math.inf:
            raise InvalidTraceError(
                f"packets need a span of at least {_INTERVAL_SECONDS} seconds, got {self.span_seconds}"
            )
        if self.hosts < 2 or self.flows < 1:
            raise InvalidTraceError(
                f"packets need at least 2 hosts and 1 flow, got {self.hosts} hosts and {self.flows} flows"
            )
        if self.seed < 0:
            raise InvalidTraceError(f"a seed must be >= 0, got {self.seed}")


def generate_packets(traffic: PacketTraffic) -> pa.Table:
    """Generate all packets in memory.

    Args:
        traffic: What to generate.

    Returns:
        A table of `PACKET_SCHEMA` in the order of time; `size` is -1 for all but TCP.

    Example:
        >>> packets = generate_packets(PacketTraffic(rows_per_second=1000, span_seconds=60))
        >>> 58_000 < packets.num_rows < 62_000
        True
    """
    return pa.concat_tables([PACKET_SCHEMA.empty_table(), *packet_pieces(traffic)])


def packet_pieces(traffic: PacketTraffic) -> Iterator[pa.Table]:
    """Generate packets piece by piece, in the order of time.

    Args:
        traffic: What to generate.

    Yields:
        Tables of `PACKET_SCHEMA`, about half a million rows each.
    """
    arrivals, flows, packets = (np.random.default_rng([_SALT, traffic.seed, salt]) for salt in range(3))
    intervals = round(traffic.span_seconds / _INTERVAL_SECONDS)
    load = load_of_sources(traffic.sources, intervals, interval_seconds=_INTERVAL_SECONDS, generator=arrivals)
    rows = arrivals.poisson(load * traffic.rows_per_second * _INTERVAL_SECONDS)
    headers = draw_headers(traffic.hosts, flows=traffic.flows, slots=_SLOTS, generator=flows)
    pieces = np.cumsum(rows) // _ROWS_PER_PIECE
    for piece in np.unique(pieces):
        first, last = np.searchsorted(pieces, [piece, piece + 1])
        yield _packets(headers, _times(rows[first:last], int(first), traffic, arrivals), packets)


def _times(
    rows: NDArray[np.int64], first: int, traffic: PacketTraffic, generator: np.random.Generator
) -> NDArray[np.int64]:
    """Times within consecutive intervals, the first of which has the number `first`."""
    length = round(_INTERVAL_SECONDS * 1_000_000)
    begins = np.repeat(np.arange(first, first + len(rows)) * length, rows)
    times = begins + generator.integers(0, length, len(begins), dtype=np.int32)
    times.sort()
    return times + traffic.start_microseconds


def _packets(headers: PacketHeaders, times: NDArray[np.int64], generator: np.random.Generator) -> pa.Table:
    slots = generator.integers(0, headers.slots, len(times), dtype=np.int32)
    proto = headers.proto[slots]
    columns = {
        "ts": pa.array(times, TIME_TYPE),
        "src_host": headers.hosts.take(pa.array(headers.src_host[slots])),
        "dest_host": headers.hosts.take(pa.array(headers.dest_host[slots])),
        "src_port": headers.src_port[slots],
        "dest_port": headers.dest_port[slots],
        "size": np.where(proto == TCP, _sizes(len(times), generator), np.int32(-1)),
        "proto": proto,
    }
    return pa.table(columns, schema=PACKET_SCHEMA)


def _sizes(count: int, generator: np.random.Generator) -> NDArray[np.int32]:
    """Acknowledgements of the smallest size, all others Pareto with tail exponent 1.2, cut at the largest."""
    uniform = generator.random(count, dtype=np.float32)
    # The share below the largest size, so that cutting leaves no heap of largest packets.
    below = 1 - (_SMALLEST_SIZE / _LARGEST_SIZE) ** _SIZE_TAIL
    tail_share = np.maximum(uniform - _ACKNOWLEDGEMENT_SHARE, 0) / (1 - _ACKNOWLEDGEMENT_SHARE)
    sizes = _SMALLEST_SIZE * (1 - tail_share * below) ** (-1 / _SIZE_TAIL)
    whole: NDArray[np.int32] = np.minimum(sizes, _LARGEST_SIZE).astype(np.int32)
    return whole
