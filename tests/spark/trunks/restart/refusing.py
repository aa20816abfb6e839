"""Starts on the checkpoint that the trunk left which are refused before anything runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from streamshed.errors import StreamshedError
from streamshed.network.model.network import QueryNetwork, network
from streamshed.network.model.query import Query
from streamshed.network.model.rows import Rows
from tests.spark.harness import QUICK
from tests.spark.trunks.course import AnswerFiles
from tests.spark.trunks.outcome import Outcome


def beside_the_others(outcome: Outcome, *queries: Query, **settings: Any) -> QueryNetwork:
    """A network of some queries, and of one on each other stream of the checkpoint, as these are fixed."""
    read = {query.stream.name for query in queries}
    others = [one for one in outcome.network.streams if one.name not in read]
    counts = [Rows(one).window("10 seconds").agg(n="count(*)").query(f"count_{one.name}") for one in others]
    return network(*queries, *counts, **{"max_depth": outcome.network.depth, **settings})


def refused_message(
    outcome: Outcome, spark: SparkSession, error: type[StreamshedError], *queries: Query, **settings: Any
) -> str:
    """Start some queries, and return why they are refused."""
    return message_of_refusal(outcome, spark, error, beside_the_others(outcome, *queries), **settings)


def message_of_refusal(
    outcome: Outcome, spark: SparkSession, error: type[StreamshedError], asked: QueryNetwork, **settings: Any
) -> str:
    """Start a network, and return why it is refused; fails where something runs, or is written down."""
    before = _written(outcome.cast.checkpoint)
    sink = AnswerFiles(outcome.cast, 0)
    usual: dict[str, Any] = {"checkpoint": str(outcome.cast.checkpoint), "sink": sink, "unscalable": "keep"}
    with pytest.raises(error) as refused:
        asked.start(spark, **QUICK, **{**usual, **settings})
    assert not spark.streams.active
    assert _written(outcome.cast.checkpoint) == before
    return str(refused.value)


def _written(checkpoint: Path) -> dict[str, str]:
    """What is of the network's own in a checkpoint."""
    return {str(file): file.read_text() for file in checkpoint.glob("*/*.json")}
