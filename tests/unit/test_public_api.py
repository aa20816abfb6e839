import streamshed as ss
from tests.unit.network.examples import HOSTS_FRAME, PACKETS_FRAME


def test_everything_public_is_there() -> None:
    assert all(hasattr(ss, name) for name in ss.__all__)


def test_a_network_is_written_as_the_documentation_says() -> None:
    packets = ss.stream("packets", PACKETS_FRAME, time="ts", watermark="1 second")
    hosts = ss.relation("hosts", HOSTS_FRAME)
    tcp = packets.filter("proto = 6")
    web = tcp.filter("dest_port IN (80, 443)").lookup(hosts, on={"src_host": "host"})
    network = ss.network(
        tcp.window("5 minutes", every="10 seconds").agg(bytes="sum(size)").query("tcp_bytes"),
        web.window("1 minute", every="10 seconds").by("subnet").agg(n="count(*)").query("web", weight=2),
        web.window("1 minute").agg(top="max(size)").query("largest", mode="subset"),
    )
    assert isinstance(network, ss.QueryNetwork)
    assert all(isinstance(query, ss.Query) for query in network.queries)
    assert len(network.nodes) == 7
