"""Answers of a query as a user sees them, with the types of its columns."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

from streamshed.spark import query_view
from tests.spark.trunks.outcome import Outcome
from tests.spark.trunks.trunk import prefixed


def typed_view(outcome: Outcome, spark: SparkSession, query: str, start: int = 2) -> pa.Table:
    """The view of a query.

    Args:
        outcome: What came of the trunk.
        spark: The session.
        query: The scenario's name of the query.
        start: A start after which the query was there.
    """
    name = prefixed(outcome.prefix, query)
    of_query = outcome.raw_answers.filter(pc.equal(outcome.raw_answers["query"], name)).combine_chunks()
    return query_view(spark.createDataFrame(of_query), outcome.cast.network(start), name).toArrow()
