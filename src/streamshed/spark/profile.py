"""Measuring what a network's rows, operators and queries are like."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from streamshed.spark.run import Run
from streamshed.spark.sinks.sinks import noop_sink
from streamshed.spark.starting import start

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from streamshed.network.document.document import NetworkDocument
    from streamshed.statistics.join_statistics import JoinStatistics
    from streamshed.statistics.network_statistics import NetworkStatistics


def profiled(document: NetworkDocument, spark: SparkSession, *, until: Callable[[Run], None]) -> NetworkStatistics:
    """Run a network without shedding until somebody has seen enough; returns what was learned.

    What the first micro-batch cost and the windows that are open at the end do not count.

    Args:
        document: The network, and how it runs; its sink and its checkpoint are not touched.
        spark: The session.
        until: Returns when enough was seen.
    """
    with tempfile.TemporaryDirectory(prefix="streamshed-profile-", ignore_cleanup_errors=True) as folder:
        run = start(
            document.network,
            spark,
            checkpoint=f"{folder}/checkpoint",
            sink=noop_sink(),
            trigger=document.run.trigger,
            unscalable="keep",
            advisory=True,
        )
        with run:
            until(run)
        return _at_the_speed_of_event_time(run.statistics())


def _at_the_speed_of_event_time(statistics: NetworkStatistics) -> NetworkStatistics:
    """A recording is read as fast as it can be. When its rows came, and so how many a second, event times say."""
    streams = {
        name: replace(
            stream,
            rows_per_second=stream.rows_per_second / stream.event_seconds_per_second,
            event_seconds_per_second=1.0,
        )
        for name, stream in statistics.streams.items()
    }
    joins = {
        name: _slowed(join, statistics.stream(name).event_seconds_per_second) for name, join in statistics.joins.items()
    }
    return replace(statistics, streams=streams, joins=joins)


def _slowed(join: JoinStatistics, speed: float) -> JoinStatistics:
    left, right = join.left_rows_per_second, join.right_rows_per_second
    return replace(
        join,
        left_rows_per_second=None if left is None else left / speed,
        right_rows_per_second=None if right is None else right / speed,
    )
