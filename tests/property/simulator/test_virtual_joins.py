"""What joins take in virtual time: as `explain` says at constant loads, as DuckDB counts pairs at others."""

from __future__ import annotations

import itertools
import math
from functools import cache

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import QueryNetwork, network
from streamshed.network.source.sources import rate
from streamshed.planning.load.join_outlook import join_outlooks
from streamshed.simulator.network_costs import network_costs
from streamshed.simulator.network_joins import network_joins
from streamshed.simulator.profiles import LoadCurve, burst, constant, ramp, steps
from streamshed.simulator.virtual_join import JoinSeconds, VirtualJoin
from streamshed.simulator.virtual_joins import VirtualJoins
from streamshed.statistics.guess import believed_statistics
from streamshed.statistics.join_sides import with_sides
from streamshed.statistics.join_statistics import JoinStatistics
from streamshed.statistics.network_statistics import NetworkStatistics, OperatorStatistics, StreamStatistics
from tests.oracles.replanned import database
from tests.thoroughness import examples

PRICES = JoinStatistics(
    fixed_seconds=0.005, seconds_per_row=1e-6, seconds_per_basic_window=1e-4, seconds_per_comparison=3e-9
)
RATES = st.floats(0.1, 1e5)
WINDOWS = st.floats(0.0, 300.0)
PROFILES = {
    "steps": steps([(0.0, 20.0), (13.0, 55.0), (31.0, 4.0), (48.0, 30.0)]),
    "ramp": ramp(start_seconds=8.0, end_seconds=41.0, low=5.0, high=60.0),
    "burst": burst(start_seconds=20.0, end_seconds=27.0, low=10.0, high=90.0),
    "none": constant(0.0),
}


def virtual_join(left: LoadCurve, right: LoadCurve, w1: float, w2: float, *, sheddable: bool = True) -> VirtualJoin:
    return VirtualJoin(
        stream="pairs",
        left=left,
        right=right,
        left_window_seconds=w1,
        right_window_seconds=w2,
        basic_windows=10,
        is_sheddable=sheddable,
        statistics=PRICES,
    )


def joined(w1: int, w2: int, selectivity: float, left: float, right: float) -> tuple[QueryNetwork, NetworkStatistics]:
    """Calls joined with some alerts, and what is known of both."""
    calls, alerts = (stream(name, rate(1), time="timestamp") for name in ("calls", "alerts"))
    some = alerts.filter("value > 3")
    pairs = calls.join(some, on="value", within=(f"{w1} s", f"{w2} s"), name="pairs")
    asked = network(pairs.window("1 minute").agg(n="count(*)").query("n"))
    given_statistics = NetworkStatistics(
        streams={
            "calls": StreamStatistics(rows_per_second=left),
            "alerts": StreamStatistics(rows_per_second=right),
        },
        operators={some.node.address: OperatorStatistics(selectivity=selectivity)},
    )
    return asked, with_sides(asked, believed_statistics(asked, given_statistics), given_statistics)


@examples(50)
@given(
    w1=st.integers(1, 600),
    w2=st.integers(0, 600),
    selectivity=st.floats(0.01, 1.0),
    left=RATES,
    right=RATES,
    factor=st.floats(0.1, 20.0),
    interval=st.floats(0.1, 60.0),
)
def test_at_a_constant_load_it_is_what_explain_says_times_the_square_of_the_load(
    w1: int, w2: int, selectivity: float, left: float, right: float, factor: float, interval: float
) -> None:
    asked, known = joined(w1, w2, selectivity, left, right)
    (outlook,) = join_outlooks(asked, known)
    costs = network_costs(asked, known, trigger_interval_seconds=2.0)
    (found,) = network_joins(asked, known, costs, factors=constant(factor)).joins
    full = float(max(w1, w2))
    told = factor**2 * outlook.comparisons_per_second * interval
    # Rows before are a difference of all rows until then, some of whose digits it loses.
    assert found.comparisons(full, full + interval) == pytest.approx(told, rel=1e-6)
    rows = factor * (outlook.left_rows_per_second + outlook.right_rows_per_second) * interval
    seconds, guessed = found.seconds(full, full + interval), JoinStatistics()
    read = guessed.seconds_per_basic_window * (outlook.left_basic_windows + outlook.right_basic_windows)
    assert seconds.comparing == pytest.approx(guessed.seconds_per_comparison * told, rel=1e-6)
    assert seconds.overhead == pytest.approx(guessed.fixed_seconds + read + guessed.seconds_per_row * rows, rel=1e-6)
    (at_once,) = join_outlooks(asked, known, load_factor=factor, trigger_interval_seconds=interval)
    assert at_once.comparing_seconds == pytest.approx(seconds.comparing, rel=1e-6)
    assert at_once.overhead_seconds == pytest.approx(seconds.overhead, rel=1e-6)


@pytest.mark.parametrize("left", PROFILES)
@pytest.mark.parametrize("right", PROFILES)
@pytest.mark.parametrize(("w1", "w2"), [(7.0, 3.0), (0.0, 12.0), (30.0, 30.0)])
def test_at_any_load_it_is_how_many_pairs_there_are(left: str, right: str, w1: float, w2: float) -> None:
    profiles = PROFILES[left], PROFILES[right]
    cuts = list(itertools.pairwise([0.0, 5.0, 17.3, 22.0, 40.0, 60.0]))
    within = ", ".join(f"count(*) FILTER (t >= {since} AND t < {until})" for since, until in cuts)
    with database() as connection:
        for name, profile in (("l", left), ("r", right)):
            connection.register(name, evenly(profile, 60.0))
        counted = connection.execute(
            f"SELECT {within} FROM (SELECT greatest(l.t, r.t) AS t FROM l JOIN r"
            f" ON r.t BETWEEN l.t - {w2} AND l.t + {w1})"
        ).fetchone()
    assert counted is not None
    join = virtual_join(*profiles, w1, w2)
    for (since, until), pairs in zip(cuts, counted, strict=True):
        # Rows are whole: at the edges of windows, and of either half of the pairs of one time, there are some more.
        assert join.comparisons(since, until) == pytest.approx(pairs, rel=0.03, abs=20.0)


@cache
def evenly(profile: str, seconds: float) -> pa.Table:
    """When rows come, each in the middle of the time that its profile has for it."""
    grid = np.linspace(0.0, seconds, 6_001)
    arrived = np.array([PROFILES[profile].rows_before(float(at)) for at in grid])
    times = np.interp(np.arange(math.floor(arrived[-1])) + 0.5, arrived, grid)
    return pa.table({"t": pa.array(times, pa.float64())})


@examples(50)
@given(
    loads=st.tuples(st.sampled_from(sorted(PROFILES)), st.sampled_from(sorted(PROFILES))),
    w1=WINDOWS,
    w2=WINDOWS,
    cuts=st.lists(st.floats(0.0, 200.0), min_size=2, max_size=6),
)
def test_in_which_micro_batches_rows_are_taken_makes_no_other_comparisons(
    loads: tuple[str, str], w1: float, w2: float, cuts: list[float]
) -> None:
    join = virtual_join(PROFILES[loads[0]], PROFILES[loads[1]], w1, w2)
    ordered = sorted(cuts)
    parts = [join.comparisons(since, until) for since, until in itertools.pairwise(ordered)]
    assert min(parts) >= 0.0
    assert sum(parts) == pytest.approx(join.comparisons(ordered[0], ordered[-1]), rel=1e-6, abs=1e-6)


@given(
    overhead=st.floats(0.0, 10.0), comparing=st.floats(0.0, 100.0), shares=st.tuples(st.floats(0, 1), st.floats(0, 1))
)
def test_a_part_takes_its_share_but_no_less_than_overhead(
    overhead: float, comparing: float, shares: tuple[float, float]
) -> None:
    full = JoinSeconds(overhead=overhead, comparing=comparing)
    low, high = sorted(shares)
    assert overhead <= full.at(low) <= full.at(high) <= full.full * (1 + 1e-9)
    assert full.at(1.0) == pytest.approx(full.full)
    assert full.at(low) <= max(low * full.full, overhead + 0.1 * low * full.full) * (1 + 1e-9)


@pytest.mark.parametrize("sheddable", [True, False])
def test_rows_are_told_in_units_that_cost_what_there_is_to_do(sheddable: bool) -> None:
    join = virtual_join(constant(100.0), constant(40.0), 20.0, 5.0, sheddable=sheddable)
    joins = VirtualJoins(joins=(join,), row_seconds={"pairs": 2e-5}, unit_seconds=1e-5)
    work = joins.work(60.0, 62.0, {"pairs": 280, "others": 100})
    full = join.seconds(60.0, 62.0).full
    assert set(work.work_per_row) == {"pairs"}
    assert work.work_per_row["pairs"] * 280 * 1e-5 == pytest.approx(280 * 2e-5 + full)
    assert work.seconds({"pairs": 1.0}) == pytest.approx(full)
    assert (work.seconds({"pairs": 0.3}) < full) is sheddable
    assert joins.work(60.0, 62.0, {"pairs": 0}).work_per_row == {}
