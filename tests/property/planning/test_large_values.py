"""Rows chosen by size: the shares, errors and choices that are promised, beside brute force."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import QueryNetwork, network
from streamshed.network.model.operators import Operator
from streamshed.network.source.sources import folder
from streamshed.network.terms.aggregate import AggregateKind
from streamshed.planning.load.network_load import network_load
from streamshed.planning.tree.large_values import Sizes, lifted_spread, sizes_of
from streamshed.planning.tree.quantization import SMALLEST, sampling_rate_of
from streamshed.statistics.network_statistics import (
    Moments,
    NetworkStatistics,
    OperatorStatistics,
    QueryStatistics,
    StreamStatistics,
)

MEANS = st.floats(1e-3, 1e6)
VARIATIONS = st.floats(0.3, 8.0)


def lognormal(mean: float, variation: float) -> tuple[Sizes, np.ndarray]:
    """Sizes, and as many values with just those, evenly over their ranks."""
    sizes = Sizes(mean=mean, square=mean**2 * (1 + variation**2))
    spread = math.sqrt(math.log(1 + variation**2))
    return sizes, np.exp(np.random.default_rng(1).standard_normal(100_000) * spread - spread**2 / 2) * mean


def lifts(values: np.ndarray, threshold: float) -> np.ndarray:
    found: np.ndarray = np.maximum(1.0, np.abs(values) / threshold)
    return found


@given(MEANS, st.floats(0.3, 2.0))
def test_moments_are_those_of_a_lognormal_distribution(mean: float, variation: float) -> None:
    sizes, values = lognormal(mean, variation)
    lift = lifts(values, mean)
    assert sizes.mean_lift == pytest.approx(lift.mean(), rel=0.02)
    assert sizes.lifted_count == pytest.approx((1 / lift).mean(), rel=0.02)
    assert sizes.lifted_mean == pytest.approx((values / lift).mean(), rel=0.02)
    assert sizes.lifted_square == pytest.approx((values**2 / lift).mean(), rel=0.05)
    for base_rate in (0.9, 0.3, 0.02):
        assert sizes.kept_share(base_rate) == pytest.approx(np.minimum(1.0, base_rate * lift).mean(), rel=0.02)


@given(MEANS, VARIATIONS, st.floats(1e-4, 1.0))
def test_no_more_rows_are_kept_than_fit_and_hardly_fewer(mean: float, variation: float, sampling_rate: float) -> None:
    sizes = Sizes(mean=mean, square=mean**2 * (1 + variation**2))
    code = sizes.base_code(sampling_rate)
    assert code == SMALLEST or sizes.kept_share(sampling_rate_of(code)) <= sampling_rate
    assert code == 0 or sizes.kept_share(sampling_rate_of(code - 1)) > sampling_rate


@given(VARIATIONS, st.sampled_from([0.3, 0.1, 0.03]))
def test_the_error_expected_is_that_of_so_many_rows(variation: float, sampling_rate: float) -> None:
    """Σ y²(1−π)/π beside N²·c·(1−P)/P, which leaves out that the largest are kept surely."""
    moments = Moments(mean=1.0, deviation=variation, size=1.0)
    sizes, values = lognormal(1.0, variation)
    base_rate = sampling_rate_of(sizes.base_code(sampling_rate))
    chances = np.minimum(1.0, base_rate * lifts(values, 1.0))
    kept = chances.mean()
    for kind, parts in (
        (AggregateKind.SUM, values),
        (AggregateKind.COUNT, np.ones(len(values))),
        (AggregateKind.AVG, values - values.mean()),
    ):
        variance = (parts**2 * (1 - chances) / chances).mean()
        promised = lifted_spread(sizes, kind, moments) * (1 - kept) / kept
        assert variance <= 1.1 * promised
        if base_rate * variation < 0.1:
            assert variance >= 0.6 * promised


@given(VARIATIONS)
def test_a_sum_gains_and_a_count_loses_less_than_half(variation: float) -> None:
    moments = Moments(mean=1.0, deviation=variation)
    sizes = sizes_of(moments)
    assert sizes is not None
    assert lifted_spread(sizes, AggregateKind.SUM, moments) <= min(2.0, moments.relative_square)
    assert lifted_spread(sizes, AggregateKind.COUNT, moments) <= 2.0


@given(st.floats(-1e6, 1e6), st.floats(0.0, 0.2))
def test_values_that_are_alike_are_not_told_apart(mean: float, variation: float) -> None:
    assert sizes_of(Moments(mean=mean, deviation=abs(mean) * variation)) is None


def _judged(sizes: pd.Series) -> pd.Series:
    return sizes


def _packets(*, is_dear: bool = True) -> QueryNetwork:
    source = folder("/nowhere", "parquet", schema="ts timestamp, size int, other double, host string, text string")
    packets = stream("packets", source, time="ts")
    tcp = packets.filter("host = 'a'")
    windows = "10 seconds"
    return network(
        tcp.window(windows).agg(answer="sum(size)").query("bytes"),
        tcp.window(windows).agg(answer="sum(size)", n="count(*)").query("bytes_too"),
        packets.window(windows).agg(answer="count(*)").query("count"),
        packets.filter("size > 3").window(windows).agg(answer="sum(other)", n="count(*)").query("others"),
        packets.filter("size > 4").window(windows).agg(answer="sum(size + 1)").query("computed"),
        packets.filter("size > 5").window(windows).by("host").agg(answer="sum(size)").query("by_host"),
        packets.filter("size > 6").window(windows).agg(answer="max(size)").query("largest"),
        packets.filter("size > 7").window(windows).agg(answer="sum(size)").query("whole", mode="exact"),
        packets.filter("size > 8").window(windows).agg(answer="sum(size)").query("beside_rows"),
        packets.filter("size > 8").query("rows"),
        *([packets.apply(_judged, columns=["size"], into="verdict", returns="int").query("judged")] * is_dear),
    )


def _known(variation: float, *, of_others: float = 0.5) -> NetworkStatistics:
    asked = _packets()
    return NetworkStatistics(
        streams={"packets": StreamStatistics(rows_per_second=1000.0)},
        operators={
            node.address: OperatorStatistics(selectivity=0.5) for node in asked.nodes if isinstance(node, Operator)
        },
        queries={
            query.name: QueryStatistics(
                seconds_per_row=1e-6,
                moments={
                    "answer": Moments(mean=2.0, deviation=2.0 * (of_others if query.name == "others" else variation))
                },
            )
            for query in asked.queries
        },
    )


def test_those_that_share_rows_are_chosen_together_and_no_others() -> None:
    load = network_load(_packets(), _known(3.0), trigger_interval_seconds=1.0, large_values=True)
    assert set(load.sized) == {"bytes", "bytes_too", "beside_rows"}
    assert {sampling.column for sampling in load.sized.values()} == {"size"}
    assert {sampling.threshold for sampling in load.sized.values()} == {2.0}
    without = network_load(_packets(), _known(3.0), trigger_interval_seconds=1.0)
    assert not without.sized
    before = {demand.query: demand.coefficient for demand in without.demands}
    for demand in load.demands:
        assert (demand.coefficient != before[demand.query]) == (demand.query in load.sized)


def test_nothing_is_chosen_by_size_where_no_row_goes_to_a_function() -> None:
    load = network_load(_packets(is_dear=False), _known(3.0), trigger_interval_seconds=1.0, large_values=True)
    assert not load.sized


def test_nothing_is_chosen_by_size_where_that_saves_little() -> None:
    load = network_load(_packets(), _known(0.5), trigger_interval_seconds=1.0, large_values=True)
    assert not load.sized


def test_a_stream_has_one_column_that_it_serves_most() -> None:
    load = network_load(_packets(), _known(1.5, of_others=9.0), trigger_interval_seconds=1.0, large_values=True)
    assert set(load.sized) == {"others"}
