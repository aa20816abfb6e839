"""Windows dropped at set places in a stream: what is delivered is exact, wherever that is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from streamshed.network.model.network import QueryNetwork
from streamshed_bench.runs.fixed_drops import DropPlace
from streamshed_bench.runs.workplace import Workplace
from streamshed_bench.windows.drop_queries import INNER, OUTER, fork_network, nested_network
from streamshed_bench.windows.drop_runs import DropRunSizes, run_drops
from tests.thoroughness import thorough


def sizes(rows: int, window: int) -> DropRunSizes:
    return DropRunSizes(rows=rows, window=window, span=window, drop_shares=(0.6,), counted=1)


@thorough  # what the benchmark measures; what is delivered of dropped windows is checked in the trunk `drop`
@pytest.mark.parametrize(
    ("network_over", "place", "run_sizes"),
    [
        (nested_network, DropPlace.MIDDLE, sizes(10_000, INNER * OUTER)),
        (nested_network, DropPlace.OUTPUT, sizes(10_000, INNER * OUTER)),
        (fork_network, DropPlace.SPLIT, sizes(400, INNER)),
    ],
)
def test_what_is_delivered_is_exact(
    spark: SparkSession,
    tmp_path: Path,
    network_over: Callable[[Path], QueryNetwork],
    place: DropPlace,
    run_sizes: DropRunSizes,
) -> None:
    found = run_drops(network_over, spark, Workplace(tmp_path), place, run_sizes)
    assert found.wrong == 0
    assert found.answers > 10
    (point,) = found.curve.points
    assert point.kept_share == pytest.approx(0.4, abs=0.1)
