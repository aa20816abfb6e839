"""Streams and relations that the tests of the network share."""

from collections.abc import Sequence

from streamshed.network.model.declared_stream import stream
from streamshed.network.model.relation import Relation, relation
from streamshed.network.model.rows import Rows

PACKET_COLUMNS = (
    ("ts", "timestamp"),
    ("proto", "int"),
    ("size", "int"),
    ("src_host", "string"),
    ("src_port", "int"),
    ("dest_port", "int"),
    ("flags", "struct<syn:boolean,ack:boolean>"),
)
HOST_COLUMNS = (("host", "string"), ("subnet", "string"), ("weight", "double"))


class FakeFrame:
    """All that the network asks of a DataFrame: the names and types of its columns."""

    def __init__(self, dtypes: Sequence[tuple[str, str]]) -> None:
        self.dtypes = list(dtypes)


PACKETS_FRAME = FakeFrame(PACKET_COLUMNS)
HOSTS_FRAME = FakeFrame(HOST_COLUMNS)


def packets(
    name: str = "packets",
    *,
    frame: FakeFrame = PACKETS_FRAME,
    watermark: str = "1 second",
    max_ahead: str | None = None,
) -> Rows:
    return stream(name, frame, time="ts", watermark=watermark, max_ahead=max_ahead)


def hosts(name: str = "hosts", *, frame: FakeFrame = HOSTS_FRAME) -> Relation:
    return relation(name, frame)
