import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from numpy.typing import NDArray

from streamshed.traces.errors import InvalidTraceError
from streamshed.traces.packet_headers import host_table
from streamshed.traces.packets import (
    PACKET_SCHEMA,
    PacketTraffic,
    generate_packets,
    packet_pieces,
)
from streamshed.traces.self_similar import OnOffSources

TRAFFIC = PacketTraffic(rows_per_second=1_000, span_seconds=120, seed=7)


@pytest.fixture(scope="module")
def packets() -> pa.Table:
    return generate_packets(TRAFFIC)


def hurst_of(times: NDArray[np.int64]) -> float:
    """H from the variance-time plot: the variance of means over m intervals falls as m^(2H − 2)."""
    counts = np.bincount((times - times[0]) // 100_000)
    lengths = np.array([1, 2, 4, 8, 16, 32, 64])
    variances = []
    for length in lengths:
        whole = len(counts) // length * length
        variances.append(counts[:whole].reshape(-1, length).mean(axis=1).var())
    slope = np.polyfit(np.log(lengths), np.log(variances), 1)[0]
    return float(1 + slope / 2)


def sizes_of(packets: pa.Table) -> NDArray[np.float64]:
    return np.asarray(packets.filter(pc.field("proto") == 6).column("size"), dtype=np.float64)


def test_columns_and_order(packets: pa.Table) -> None:
    assert packets.schema == PACKET_SCHEMA
    times = np.asarray(packets.column("ts").cast(pa.int64()))
    assert (np.diff(times) >= 0).all()
    assert times[0] >= TRAFFIC.start_microseconds
    assert times[-1] < TRAFFIC.start_microseconds + TRAFFIC.span_seconds * 1_000_000


def test_equal_seeds_give_equal_packets(packets: pa.Table) -> None:
    assert generate_packets(TRAFFIC).equals(packets)
    other = PacketTraffic(rows_per_second=1_000, span_seconds=120, seed=8)
    assert not generate_packets(other).equals(packets)


@pytest.mark.parametrize("seed", range(5))
def test_the_mean_is_met(seed: int) -> None:
    packets = generate_packets(PacketTraffic(rows_per_second=2_000, span_seconds=60, seed=seed))
    assert packets.num_rows == pytest.approx(120_000, rel=0.02)


@pytest.mark.parametrize("seed", range(5))
def test_arrivals_are_self_similar(seed: int) -> None:
    packets = generate_packets(PacketTraffic(rows_per_second=300, span_seconds=600, seed=seed))
    assert 0.7 < hurst_of(np.asarray(packets.column("ts").cast(pa.int64()))) < 0.98


def test_the_estimate_of_poisson_arrivals_is_a_half() -> None:
    times = np.sort(np.random.default_rng(0).integers(0, 600_000_000, 180_000))
    assert hurst_of(times) == pytest.approx(0.5, abs=0.08)


def test_sizes_are_heavy_tailed(packets: pa.Table) -> None:
    sizes = np.sort(sizes_of(packets))[::-1]
    assert sizes.std() / sizes.mean() > 3
    top = len(sizes) // 100
    assert sizes[:top].sum() > 0.2 * sizes.sum()
    hill = 1 / np.log(sizes[:top] / sizes[top]).mean()
    assert 1 < hill < 1.6
    assert 40 <= sizes.min() <= sizes.max() <= 65_535


def test_only_tcp_has_sizes(packets: pa.Table) -> None:
    others = packets.filter(pc.field("proto") != 6)
    assert pc.unique(others.column("size")).to_pylist() == [-1]
    assert set(pc.unique(packets.column("proto")).to_pylist()) == {6, 17, 1}


def test_ports_and_hosts_are_those_of_a_network(packets: pa.Table) -> None:
    ports = packets.column("dest_port").to_numpy()
    assert all((ports == port).any() for port in (80, 443, 20, 25, 53))
    assert (ports == 443).mean() > (ports == 25).mean()
    counts = np.sort(np.unique(packets.column("src_host").to_numpy(zero_copy_only=False), return_counts=True)[1])
    assert counts[-1] > 20 * np.median(counts)
    known = host_table(TRAFFIC.hosts)
    assert set(packets.column("dest_host").to_pylist()) <= set(known.column("host").to_pylist())
    assert pc.value_counts(known.column("role")).to_pylist() == [
        {"values": "server", "counts": 100},
        {"values": "client", "counts": 900},
    ]


def test_long_streams_come_in_pieces() -> None:
    traffic = PacketTraffic(rows_per_second=100_000, span_seconds=12)
    pieces = list(packet_pieces(traffic))
    assert len(pieces) == 3
    assert max(piece.num_rows for piece in pieces) < 510_000
    times = np.concatenate([np.asarray(piece.column("ts").cast(pa.int64())) for piece in pieces])
    assert (np.diff(times) >= 0).all()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rows_per_second": 0.0}, "rows per second above 0"),
        ({"rows_per_second": float("nan")}, "rows per second above 0"),
        ({"span_seconds": 0.0}, "span of at least 0.01"),
        ({"seed": -1}, "seed must be >= 0"),
        ({"hosts": 1}, "at least 2 hosts"),
        ({"flows": 0}, "at least 2 hosts and 1 flow"),
    ],
)
def test_what_no_traffic_can_have_is_refused(changes: dict[str, float], message: str) -> None:
    settings: dict[str, float] = {"rows_per_second": 1.0, "span_seconds": 1.0} | changes
    with pytest.raises(InvalidTraceError, match=message):
        PacketTraffic(**settings)  # type: ignore[arg-type]


@pytest.mark.parametrize("span_seconds", [0.01, 0.5])
def test_the_shortest_streams(span_seconds: float) -> None:
    sources = OnOffSources(sources=1, mean_on_seconds=0.001, mean_off_seconds=100)
    for seed in range(20):
        traffic = PacketTraffic(rows_per_second=1, span_seconds=span_seconds, seed=seed, sources=sources)
        assert generate_packets(traffic).schema == PACKET_SCHEMA
