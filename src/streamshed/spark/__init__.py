"""How a network runs on Spark: the only package that imports pyspark."""

from streamshed.spark.bounded import answers
from streamshed.spark.predictions import predictions
from streamshed.spark.run import Run, start
from streamshed.spark.session import local_session
from streamshed.spark.sinks import console_sink, each_micro_batch, memory_sink, noop_sink, parquet_sink
from streamshed.spark.views import query_view

__all__ = [
    "Run",
    "answers",
    "console_sink",
    "each_micro_batch",
    "local_session",
    "memory_sink",
    "noop_sink",
    "parquet_sink",
    "predictions",
    "query_view",
    "start",
]
