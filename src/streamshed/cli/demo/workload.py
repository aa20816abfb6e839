"""What the demo asks: nine queries of somebody who watches a network."""

from pathlib import Path

from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import QueryNetwork, network
from streamshed.network.model.query import Query
from streamshed.network.model.relation import relation
from streamshed.network.model.rows import Rows
from streamshed.network.source.sources import folder
from streamshed.network.terms.parsing import parse_json

KAFKA_COLUMNS = "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp"
PACKET_COLUMNS = "ts timestamp, src_host string, dest_host string, src_port int, dest_port int, size int, proto int"
MEANINGS = {
    "tcp": "TCP packets and bytes",
    "udp": "UDP packets",
    "web_by_subnet": "web packets and bytes by the sender's subnet",
    "mail": "bytes of mail and their mean packet size",
    "names_by_subnet": "name lookups by subnet",
    "large": "large packets",
    "protocols": "packets by protocol",
    "to_servers": "bytes sent to servers",
    "largest_by_sender": "each sender's largest packet",
}
"""Each query in a few words."""


def packet_stream(watched: Path) -> Rows:
    """Packets as a broker delivers them: records whose value is JSON, in files that arrive in a folder.

    Event time is the broker's: it is known without parsing, so that the windows that a shed micro-batch touches
    are known, too, and all others stay exact.
    """
    return stream(
        "packets",
        folder(str(watched), "parquet", schema=KAFKA_COLUMNS),
        time="timestamp",
        watermark="1 second",
        parse=parse_json("value", PACKET_COLUMNS),
        identity=["topic", "partition", "offset"],
    )


def demo_network(watched: Path, hosts: Path) -> QueryNetwork:
    """Make the demo's network: eight queries that are answered from samples, and one that cannot be.

    The largest packet of a sample says next to nothing of the largest of all. That query may miss windows instead, of
    some senders in each, and rows of those that are missed are not even parsed: the record's key is the sender. As an
    answer that is missing counts as one that is off by all of it, its weight is small, or it would get all the time.

    Args:
        watched: The folder in which packets arrive.
        hosts: The file that tells subnet and role of each host.
    """
    packets = packet_stream(watched)
    subnets = relation("hosts", str(hosts))
    tcp, udp = packets.filter("proto = 6"), packets.filter("proto = 17")
    by_sender = {"src_host": "host"}
    web = tcp.filter("dest_port IN (80, 443)").lookup(subnets, on=by_sender, columns=["subnet"])
    names = udp.filter("dest_port = 53").lookup(subnets, on=by_sender, columns=["subnet"])
    mail = tcp.filter("src_port = 25 OR dest_port = 25")
    servers = tcp.lookup(subnets, on={"dest_host": "host"}, columns=["role"]).filter("role = 'server'")
    queries: tuple[Query, ...] = (
        tcp.window("20 seconds", every="5 seconds").agg(packets="count(*)", bytes="sum(size)").query("tcp"),
        udp.window("10 seconds", every="5 seconds").agg(packets="count(*)").query("udp"),
        web.window("10 seconds", every="5 seconds")
        .by("subnet")
        .agg(packets="count(*)", bytes="sum(size)")
        .query("web_by_subnet"),
        mail.window("20 seconds", every="5 seconds").agg(bytes="sum(size)", mean="avg(size)").query("mail"),
        names.window("10 seconds").by("subnet").agg(packets="count(*)").query("names_by_subnet"),
        tcp.filter("size >= 1400").window("10 seconds").agg(packets="count(*)").query("large"),
        packets.window("10 seconds", every="5 seconds").by("proto").agg(packets="count(*)").query("protocols"),
        servers.window("20 seconds", every="5 seconds").agg(bytes="sum(size)").query("to_servers"),
        packets.window("5 seconds")
        .by(sender="CAST(key AS STRING)")
        .agg(largest="max(size)")
        .query("largest_by_sender", 0.01, mode="subset", max_gap=5, gaps_by="group"),
    )
    return network(*queries)
