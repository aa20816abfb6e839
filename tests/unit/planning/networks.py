"""Small networks that the tests of planning, control and simulator share."""

from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import QueryNetwork, network
from streamshed.network.model.rows import Rows
from streamshed.network.source.sources import rate


def rows_of(name: str) -> Rows:
    return stream(name, rate(10), time="timestamp", watermark="1 second")


def counting(*streams: str, exact: tuple[str, ...] = ()) -> QueryNetwork:
    """A network that counts the rows of each stream, exactly for those named."""
    return network(
        *(
            rows_of(name)
            .window("1 minute")
            .agg(n="count(*)")
            .query(f"count_{name}", mode="exact" if name in exact else "approximate")
            for name in streams
        )
    )


def aggregating(call: str, *, mode: str = "approximate") -> QueryNetwork:
    """A network with one query over stream `packets`."""
    return network(rows_of("packets").window("1 minute").agg(answer=call).query("query", mode=mode))
