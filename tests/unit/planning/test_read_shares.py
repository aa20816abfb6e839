"""Which share of its rows a stream reads: held against the variance of two-stage samples, computed for each share."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from streamshed.network.run.load_prior import LoadPrior
from streamshed.network.terms.join_shedding import COHORTS
from streamshed.planning.plan.budget import Budget
from streamshed.planning.plan.read_shares import MOST_READING, WORTH_LEAVING, read_shares
from streamshed.statistics.design_effects import BELIEVED
from streamshed.statistics.forecast import Statistics
from streamshed.statistics.load_model import LoadModel
from streamshed.statistics.speedup import SCATTERED_COST, UNREAD_COST, reading_cost

BUDGET = Budget(trigger_interval_seconds=2.5, deadline_seconds=2.5, headroom=0.8)
"""1 s for rows, beside a fixed second."""
MANY = 10**6


def coming(reading: float, work: float, **rows: int) -> Statistics:
    """Rows that take so many seconds to read, and to work on, where there are a million."""
    prior = LoadPrior(fixed_seconds=1.0, seconds_per_row=(reading + work) * 1e-6, read_share=reading / (reading + work))
    return Statistics(offered_rows=rows, load_model=LoadModel.initial(sorted(rows), prior))


def share_of(
    reading: float, work: float, effect: float, blocks: int = MANY, scattered_cost: float = SCATTERED_COST
) -> float:
    statistics = replace(coming(reading, work, packets=1_000_000), scattered_costs={"packets": scattered_cost})
    return read_shares({"packets": blocks}, (), statistics, BUDGET, {"packets": effect}).get("packets", 1.0)


def variance(share: float, reading: float, work: float, effect: float, scattered_cost: float = SCATTERED_COST) -> float:
    """That of a total, in parts of what each row brings, where blocks are drawn, and rows of these in the time left."""
    left = 1.0 - reading_cost(share, scattered_cost) * reading
    if left <= 0:
        return math.inf
    sampling_rate = min(1.0, left / (share * work))
    of_blocks, of_rows = (1 - share) / share * effect, (1 - sampling_rate) / (sampling_rate * share)
    return of_blocks + of_rows


@given(
    reading=st.floats(0.01, 50.0),
    work=st.floats(0.01, 50.0),
    effect=st.floats(0.0, 3000.0),
    scattered_cost=st.floats(1.0, 8.0),
)
def test_no_other_share_has_a_smaller_variance(
    reading: float, work: float, effect: float, scattered_cost: float
) -> None:
    assume(reading + work > 1.001 and UNREAD_COST * reading < 0.8)
    share = share_of(reading, work, effect, scattered_cost=scattered_cost)
    most = (MOST_READING - UNREAD_COST * reading) / ((scattered_cost - UNREAD_COST) * reading)
    others = np.append(np.geomspace(1e-4, 1.0, 400), min(1.0, most))
    allowed = [other for other in others if other <= most or reading <= MOST_READING]
    least = min(variance(other, reading, work, effect, scattered_cost) for other in allowed)
    worth, chosen = WORTH_LEAVING if share == 1 else 1.0, variance(share, reading, work, effect, scattered_cost)
    assert chosen <= worth * least * (1 + 1e-6) + 1e-9
    if share < 1 and reading <= MOST_READING:
        assert variance(1.0, reading, work, effect) >= WORTH_LEAVING * chosen * (1 - 1e-6)


@pytest.mark.parametrize(("reading", "work"), [(0.2, 0.5), (0.95, 0.04), (0.1, 20.0), (0.3, 1.0)])
def test_everything_is_read_where_that_leaves_time_for_work_unless_it_is_known_that_blocks_are_alike(
    reading: float, work: float
) -> None:
    assert read_shares({"packets": MANY}, (), coming(reading, work, packets=1_000_000), BUDGET) == {}
    assert share_of(reading, work, BELIEVED) == 1
    assert share_of(0.6, 20.0, BELIEVED) == 1 > share_of(0.6, 20.0, 1.0)


def test_everything_is_read_where_less_would_hardly_do_better() -> None:
    """At three times the load: with D = 1 the variance is 2.95 where all are read, else 2; with D = 0.9, 1.8."""
    reading, work = 3 * 0.12 / 1.12, 3 / 1.12
    assert variance(1.0, reading, work, 1.0) < WORTH_LEAVING * variance(1 / 3, reading, work, 1.0, 1.0)
    assert share_of(reading, work, 1.0, scattered_cost=1.0) == 1.0
    assert share_of(reading, work, 0.9, scattered_cost=1.0) == pytest.approx(1 / 3, abs=0.01)
    assert variance(0.253, 0.38, 17.0, 1.5, 1.0) > variance(1.0, 0.38, 17.0, 1.5) / WORTH_LEAVING
    assert share_of(0.38, 17.0, 1.5, scattered_cost=1.0) == 1.0


def test_the_dearer_scattered_rows_are_the_fewer_are_read() -> None:
    costs = (1.0, 2.0, 4.0, 8.0)
    shares = [share_of(2.0, 20.0, 3.0, scattered_cost=cost) for cost in costs]
    assert shares == sorted(set(shares), reverse=True)
    assert share_of(0.5, 1.0, 0.0, scattered_cost=1.0) < 1
    assert all(reading_cost(share, cost) * 2.0 <= MOST_READING for share, cost in zip(shares, costs, strict=True))


def test_where_scattered_blocks_take_as_long_as_all_only_what_is_worked_on_counts() -> None:
    """Blocks are alike within: half of them are worked on, though to read that half takes as long as to read all."""
    assert share_of(0.5, 1.0, 0.5, scattered_cost=8.0) == pytest.approx(0.5)


def test_of_blocks_that_are_alike_as_much_is_read_as_can_be_worked_on() -> None:
    statistics = coming(2.0, 2.0, packets=1_000_000)
    share = share_of(2.0, 2.0, 1.0)
    of_those = Statistics(
        offered_rows=statistics.offered_rows, load_model=statistics.load_model, read_shares={"packets": share}
    )
    assert of_those.seconds({"packets": share}) == pytest.approx(BUDGET.seconds)


def test_the_more_blocks_differ_the_more_are_read_for_less_work_on_each_row() -> None:
    shares = [share_of(2.0, 20.0, effect) for effect in (0.0, 1.0, 3.0, 30.0, 300.0, 1e9)]
    assert shares[0] == shares[1] < shares[2] < shares[3] < shares[4] < shares[5]
    assert reading_cost(shares[5]) * 2.0 == pytest.approx(MOST_READING)


def test_each_cohort_has_a_block_if_there_is_time_to_read_as_many() -> None:
    assert share_of(1.5, 20.0, 1.0, blocks=64) == pytest.approx(COHORTS / 64)
    assert reading_cost(share_of(1.5, 20.0, 1.0, blocks=20)) * 1.5 == pytest.approx(MOST_READING)
    assert share_of(500.0, 20.0, 1.0, blocks=20) == 1 / 20


def test_streams_share_the_time_and_those_of_which_every_row_is_needed_are_read() -> None:
    statistics = coming(2.0, 2.0, flows=1_000_000, packets=1_000_000)
    groups = {"packets": 1000, "flows": 1000}
    both = read_shares(groups, (), statistics, BUDGET)
    assert both.keys() == groups.keys()
    assert len(set(both.values())) == 1
    assert read_shares(groups, ("flows", "packets"), statistics, BUDGET) == {}
    assert read_shares(groups, ("flows",), statistics, BUDGET).keys() == {"packets"}


def test_a_stream_counts_by_the_work_on_it() -> None:
    statistics = coming(2.0, 20.0, flows=100, packets=1_000_000)
    groups = {"packets": MANY, "flows": MANY}
    shares = [
        read_shares(groups, (), statistics, BUDGET, {"packets": of_packets, "flows": of_flows})["packets"]
        for of_packets, of_flows in ((1.0, 1.0), (1.0, 30.0), (30.0, 30.0))
    ]
    assert shares[0] == pytest.approx(shares[1], rel=0.01)
    assert shares[1] < 0.5 * shares[2]


def test_a_stream_without_rows_is_read() -> None:
    statistics = coming(2.0, 2.0, flows=0, packets=1_000_000)
    assert read_shares({"packets": 1000, "flows": 1}, (), statistics, BUDGET).keys() == {"packets"}


@given(
    reading=st.floats(1e-3, 1e3),
    work=st.floats(1e-3, 1e3),
    effect=st.floats(0.0, 1e4),
    blocks=st.integers(1, 100_000),
    rows=st.integers(1, 10**8),
)
def test_a_share_is_one_of_rows_and_never_leaves_a_calm_load_unread(
    reading: float, work: float, effect: float, blocks: int, rows: int
) -> None:
    statistics = coming(reading, work, packets=rows)
    shares = read_shares({"packets": blocks}, (), statistics, BUDGET, {"packets": effect})
    assert all(1 / blocks <= share < 1 for share in shares.values())
    if shares:
        assert statistics.seconds({}) > BUDGET.seconds
