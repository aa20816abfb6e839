"""Other queries on the checkpoint of a trunk."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from pyspark.sql import SparkSession

from streamshed.network.model.network import network
from streamshed.network.model.query import Query
from streamshed.spark.starting import start
from tests.spark.harness import Collected
from tests.spark.trunks.outcome import Outcome
from tests.spark.trunks.scenario import Setting


def start_once_more(outcome: Outcome, spark: SparkSession, queries: Callable[[Setting], Iterable[Query]]) -> None:
    """Start queries, and no others, where the trunk's have run; for those that are refused.

    Args:
        outcome: What came of the trunk.
        spark: The session.
        queries: Builds them.
    """
    cast = outcome.cast
    streams = {name: one.stream(cast.path) for name, one in cast.inputs.items()}
    asked = network(*queries(Setting(streams=streams, folder=outcome.folder, start=2)))
    with start(asked, spark, checkpoint=str(cast.checkpoint), sink=Collected(), **cast.start_settings):
        pass
