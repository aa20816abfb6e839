"""How late answers get while windows are kept is said before it happens."""

from __future__ import annotations

from dataclasses import replace

import pytest

from streamshed.network.model.network import network
from streamshed.statistics.network_statistics import NetworkStatistics, QueryStatistics, StreamStatistics
from tests.property.simulator.test_agreement import Load
from tests.unit.planning.networks import rows_of

KNOWN = NetworkStatistics(
    fixed_seconds=0.2,
    streams={
        "s": StreamStatistics(rows_per_second=1e5, read_seconds_per_row=1e-8, parse_seconds_per_row=2e-6),
    },
    queries={"largest": QueryStatistics(seconds_per_row=1e-6)},
)


def subset(size: str, factor: float) -> Load:
    windows = rows_of("s").window(size).agg(largest="max(value)")
    return Load(network(windows.query("largest", mode="subset", max_gap=19)), KNOWN, factor)


@pytest.mark.parametrize("factor", [3.0, 8.0])
@pytest.mark.parametrize("size", ["1 second", "10 seconds"])
def test_explain_says_the_worst_delay_of_a_run(size: str, factor: float) -> None:
    load = subset(size, factor)
    (outlook,) = load.explanation.outlooks
    assert outlook.delay_seconds is not None
    worst = max(done.latency_seconds for done in load.simulated(60)[10:])
    assert outlook.delay_seconds / 2.2 <= worst <= 1.15 * outlook.delay_seconds


def test_nothing_is_said_where_nothing_is_dropped_or_all_or_some_by_group() -> None:
    light = subset("10 seconds", 0.9)
    by_group = rows_of("s").window("10 seconds").by("value").agg(largest="max(value)")
    groups = network(by_group.query("largest", mode="subset", max_gap=19, gaps_by="group"))
    for load in (light, replace(light, network=groups, factor=5.0), replace(light, factor=200.0)):
        (outlook,) = load.explanation.outlooks
        assert outlook.delay_seconds is None
