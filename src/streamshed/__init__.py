"""Continuous queries on Spark Structured Streaming that shed load when overloaded."""

from importlib import import_module
from typing import TYPE_CHECKING

from streamshed import api as api
from streamshed.errors import StreamshedError
from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import QueryNetwork, network
from streamshed.network.model.query import Query
from streamshed.network.model.relation import relation
from streamshed.network.model.rows import Rows
from streamshed.network.source.delta_source import delta
from streamshed.network.source.iceberg_source import iceberg
from streamshed.network.source.kafka_source import kafka
from streamshed.network.source.sources import folder, rate
from streamshed.network.terms.aggregate import user_aggregate
from streamshed.network.terms.join_condition import inner_product, overlap, pairs_where
from streamshed.network.terms.parsing import parse_avro, parse_csv, parse_json
from streamshed.version import __version__

if TYPE_CHECKING:
    from streamshed.dashboard.metrics_server import MetricsServer
    from streamshed.dashboard.run_metrics import RunMetrics
    from streamshed.dashboard.run_traces import RunTraces
    from streamshed.elasticity.settings import ElasticSettings
    from streamshed.elasticity.thresholds import Thresholds
    from streamshed.elasticity.workers import WorkerLimits
    from streamshed.network.document.document import load_network, sql
    from streamshed.network.run.feed import Feed
    from streamshed.network.run.load_prior import LoadPrior
    from streamshed.statistics.network_statistics import NetworkStatistics

_LATER = {
    "ElasticSettings": "elasticity.settings",
    "Feed": "network.run.feed",
    "LoadPrior": "network.run.load_prior",
    "MetricsServer": "dashboard.metrics_server",
    "NetworkStatistics": "statistics.network_statistics",
    "RunMetrics": "dashboard.run_metrics",
    "RunTraces": "dashboard.run_traces",
    "Thresholds": "elasticity.thresholds",
    "WorkerLimits": "elasticity.workers",
    "load_network": "network.document.document",
    "sql": "network.document.document",
}
"""Where that lies which is imported when it is first asked for: documents, settings of `start`, metrics."""

__all__ = [
    "ElasticSettings",
    "Feed",
    "LoadPrior",
    "MetricsServer",
    "NetworkStatistics",
    "Query",
    "QueryNetwork",
    "Rows",
    "RunMetrics",
    "RunTraces",
    "StreamshedError",
    "Thresholds",
    "WorkerLimits",
    "__version__",
    "delta",
    "folder",
    "iceberg",
    "inner_product",
    "kafka",
    "load_network",
    "network",
    "overlap",
    "pairs_where",
    "parse_avro",
    "parse_csv",
    "parse_json",
    "rate",
    "relation",
    "sql",
    "stream",
    "user_aggregate",
]


def __getattr__(name: str) -> object:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
