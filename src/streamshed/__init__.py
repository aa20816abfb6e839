"""Continuous queries on Spark Structured Streaming that shed load when overloaded."""

from typing import TYPE_CHECKING

from streamshed.errors import StreamshedError
from streamshed.network.model.network import QueryNetwork, network
from streamshed.network.model.query import Query
from streamshed.network.model.relation import relation
from streamshed.network.model.sources import folder, rate
from streamshed.network.model.stream import parse_csv, parse_json, stream
from streamshed.network.terms.aggregate import user_aggregate

if TYPE_CHECKING:
    from streamshed.network.document.document import load_network

__version__ = "0.1.0"

__all__ = [
    "Query",
    "QueryNetwork",
    "StreamshedError",
    "__version__",
    "folder",
    "load_network",
    "network",
    "parse_csv",
    "parse_json",
    "rate",
    "relation",
    "stream",
    "user_aggregate",
]


def __getattr__(name: str) -> object:
    """Load what reads documents only when it is asked for."""
    if name == "load_network":
        from streamshed.network.document.document import load_network

        return load_network
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
