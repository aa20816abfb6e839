"""How a network runs on Spark: the only package that imports pyspark.

What is public is imported when it is first asked for: tasks, which are processes of their own, need little of it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from streamshed.spark.bounded import answers
    from streamshed.spark.cluster.session import local_session
    from streamshed.spark.query_views import query_view
    from streamshed.spark.run import Run
    from streamshed.spark.sinks.delta_sink import delta_sink
    from streamshed.spark.sinks.iceberg_sink import iceberg_sink
    from streamshed.spark.sinks.kafka_sink import kafka_sink
    from streamshed.spark.sinks.postgres_sink import postgres_sink
    from streamshed.spark.sinks.predicted_gaps import predictions
    from streamshed.spark.sinks.prediction_sink import predicting_sink
    from streamshed.spark.sinks.sinks import (
        console_sink,
        each_micro_batch,
        memory_sink,
        noop_sink,
        parquet_sink,
    )
    from streamshed.spark.starting import start

_MODULES = {
    "Run": "run",
    "answers": "bounded",
    "console_sink": "sinks.sinks",
    "delta_sink": "sinks.delta_sink",
    "each_micro_batch": "sinks.sinks",
    "iceberg_sink": "sinks.iceberg_sink",
    "kafka_sink": "sinks.kafka_sink",
    "local_session": "cluster.session",
    "memory_sink": "sinks.sinks",
    "noop_sink": "sinks.sinks",
    "parquet_sink": "sinks.sinks",
    "postgres_sink": "sinks.postgres_sink",
    "predicting_sink": "sinks.prediction_sink",
    "predictions": "sinks.predicted_gaps",
    "query_view": "query_views",
    "start": "starting",
}

__all__ = [
    "Run",
    "answers",
    "console_sink",
    "delta_sink",
    "each_micro_batch",
    "iceberg_sink",
    "kafka_sink",
    "local_session",
    "memory_sink",
    "noop_sink",
    "parquet_sink",
    "postgres_sink",
    "predicting_sink",
    "predictions",
    "query_view",
    "start",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    attribute = globals()[name] = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    return attribute
