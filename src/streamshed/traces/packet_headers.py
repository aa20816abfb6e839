"""Hosts, services and flows of a made-up network: what stands in the headers of its packets."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

TCP, UDP, ICMP = 6, 17, 1

_HOSTS_PER_SUBNET = 32
_EPHEMERAL_PORTS = (32_768, 61_000)

# Protocol, port of the server, share of the flows.
SERVICES: tuple[tuple[int, int, float], ...] = (
    (TCP, 443, 0.38),
    (TCP, 80, 0.22),
    (UDP, 53, 0.12),
    (TCP, 25, 0.06),
    (TCP, 22, 0.05),
    (TCP, 20, 0.04),
    (TCP, 445, 0.04),
    (UDP, 123, 0.03),
    (TCP, 6000, 0.02),
    (UDP, 161, 0.02),
    (ICMP, 0, 0.02),
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PacketHeaders:
    """Directed flows in proportion to their packets: a packet is one slot, all equally likely.

    Args:
        hosts: Names of the hosts, servers first; the more popular of each come first.
        src_host: Index of the sending host, per slot.
        dest_host: Index of the receiving host, per slot.
        src_port: Port of the sender, per slot.
        dest_port: Port of the receiver, per slot.
        proto: IP protocol number, per slot.
    """

    hosts: pa.Array
    src_host: NDArray[np.int32]
    dest_host: NDArray[np.int32]
    src_port: NDArray[np.int32]
    dest_port: NDArray[np.int32]
    proto: NDArray[np.int16]

    @property
    def slots(self) -> int:
        """Number of slots."""
        return len(self.proto)


def draw_headers(hosts: int, *, flows: int, slots: int, generator: np.random.Generator) -> PacketHeaders:
    """Draw flows between hosts: popularity of hosts and flows is Zipf, one host in ten is a server.

    Args:
        hosts: Number of hosts, at least 2.
        flows: Number of flows, at least 1.
        slots: Number of slots, at least 1.
        generator: Source of randomness.

    Returns:
        The headers.
    """
    servers = max(1, hosts // 10)
    shares = np.array([share for _, _, share in SERVICES])
    service = generator.choice(len(SERVICES), flows, p=shares / shares.sum())
    protocols, ports = (np.array([row[column] for row in SERVICES])[service] for column in (0, 1))
    server = generator.choice(servers, flows, p=_zipf(servers, exponent=1.0))
    client = servers + generator.choice(hosts - servers, flows, p=_zipf(hosts - servers, exponent=1.0))
    client_port = np.where(protocols == ICMP, 0, generator.integers(*_EPHEMERAL_PORTS, flows))
    flow = generator.choice(flows, slots, p=_zipf(flows, exponent=0.8))
    upward = generator.random(slots) < 0.5
    client, server = client[flow].astype(np.int32), server[flow].astype(np.int32)
    client_port, server_port = client_port[flow].astype(np.int32), ports[flow].astype(np.int32)
    return PacketHeaders(
        hosts=pa.array([host_name(host) for host in range(hosts)]),
        src_host=np.where(upward, client, server),
        dest_host=np.where(upward, server, client),
        src_port=np.where(upward, client_port, server_port),
        dest_port=np.where(upward, server_port, client_port),
        proto=protocols[flow].astype(np.int16),
    )


def host_name(host: int) -> str:
    """Name a host by its address, 32 of them per subnet.

    Example:
        >>> host_name(0), host_name(33)
        ('10.0.0.1', '10.0.1.2')
    """
    subnet, number = divmod(host, _HOSTS_PER_SUBNET)
    return f"10.{subnet // 256}.{subnet % 256}.{number + 1}"


def host_table(hosts: int) -> pa.Table:
    """List the hosts of a network, to be looked up: `host`, its `subnet`, its `role`.

    Args:
        hosts: Number of hosts.

    Returns:
        One row per host; the role is `server` or `client`.

    Example:
        >>> host_table(20).slice(1, 2).to_pylist()[1]
        {'host': '10.0.0.3', 'subnet': '10.0.0', 'role': 'client'}
    """
    names = [host_name(host) for host in range(hosts)]
    servers = max(1, hosts // 10)
    return pa.table(
        {
            "host": names,
            "subnet": [name.rpartition(".")[0] for name in names],
            "role": ["server" if host < servers else "client" for host in range(hosts)],
        }
    )


def _zipf(count: int, *, exponent: float) -> NDArray[np.float64]:
    weights = np.arange(1, count + 1) ** -exponent
    probabilities: NDArray[np.float64] = weights / weights.sum()
    return probabilities
