"""Which share of its rows a stream reads, in which bundles: held against the variance of two-stage samples."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from streamshed.network.run.load_prior import LoadPrior
from streamshed.network.terms.join_shedding import COHORTS
from streamshed.planning.plan.blocks_read import LEAST_BUNDLES, MOST_READING, WIDEST, WORTH_LEAVING, blocks_read
from streamshed.planning.plan.budget import Budget
from streamshed.statistics.design_effects import BELIEVED
from streamshed.statistics.forecast import Statistics
from streamshed.statistics.load_model import LoadModel
from streamshed.statistics.speedup import UNREAD_COST, reading_cost, scattered_cost

BUDGET = Budget(trigger_interval_seconds=2.5, deadline_seconds=2.5, headroom=0.8)
"""1 s for rows, beside a fixed second."""
MANY = 10**6
WIDTHS = (1, 2, 4, 8, 16)


def coming(reading: float, work: float, **rows: int) -> Statistics:
    """Rows that take so many seconds to read, and to work on, where there are a million."""
    prior = LoadPrior(fixed_seconds=1.0, seconds_per_row=(reading + work) * 1e-6, read_share=reading / (reading + work))
    return Statistics(offered_rows=rows, load_model=LoadModel.initial(sorted(rows), prior))


def read_of(
    reading: float, work: float, effect: float, blocks: int = MANY, factor: float = 1.0
) -> tuple[float, int | None]:
    """The share that is read, and in bundles of how many blocks."""
    statistics = replace(coming(reading, work, packets=1_000_000), scattered_factors={"packets": factor})
    read = blocks_read({"packets": blocks}, (), statistics, BUDGET, {"packets": effect})
    assert read.shares.keys() == read.widths.keys()
    return read.shares.get("packets", 1.0), read.widths.get("packets")


def share_of(reading: float, work: float, effect: float, blocks: int = MANY, factor: float = 1.0) -> float:
    share, _ = read_of(reading, work, effect, blocks, factor)
    return share


def of_bundles(effect: float, width: int) -> float:
    """The design effect of bundles whose blocks are as much alike as the rows of a block."""
    return max(effect, 1 + width * (effect - 1))


def variance(share: float, reading: float, work: float, effect: float, cost: float = 6.0) -> float:
    """That of a total, in parts of what each row brings, where blocks are drawn, and rows of these in the time left."""
    left = 1.0 - reading_cost(share, cost) * reading
    if left <= 0:
        return math.inf
    sampling_rate = min(1.0, left / (share * work))
    of_blocks, of_rows = (1 - share) / share * effect, (1 - sampling_rate) / (sampling_rate * share)
    return of_blocks + of_rows


@given(
    reading=st.floats(0.01, 50.0),
    work=st.floats(0.01, 50.0),
    effect=st.floats(0.0, 3000.0),
    factor=st.floats(0.05, 4.0),
)
def test_no_other_share_has_a_smaller_variance(reading: float, work: float, effect: float, factor: float) -> None:
    assume(reading + work > 1.001 and UNREAD_COST * reading < 0.8)
    assume(abs(reading - MOST_READING) > 1e-6)  # where it is as large, rounding decides whether all can be read
    share, width = read_of(reading, work, effect, factor=factor)
    cost, of_width = scattered_cost(width or 1, factor), of_bundles(effect, width or 1)
    most = (MOST_READING - UNREAD_COST * reading) / ((cost - UNREAD_COST) * reading)
    others = np.append(np.geomspace(1e-4, 1.0, 400), min(1.0, most))
    allowed = [other for other in others if other <= most or reading <= MOST_READING]
    least = min(variance(other, reading, work, of_width, cost) for other in allowed)
    worth, chosen = WORTH_LEAVING if share == 1 else 1.0, variance(share, reading, work, of_width, cost)
    assert chosen <= worth * least * (1 + 1e-6) + 1e-9
    if share < 1 and reading <= MOST_READING:
        assert variance(1.0, reading, work, of_width) >= WORTH_LEAVING * chosen * (1 - 1e-6)


@given(
    reading=st.floats(1.0, 20.0),
    work=st.floats(0.01, 50.0),
    excess=st.floats(0.0, 1.0),
    factor=st.floats(0.05, 4.0),
)
def test_hardly_any_other_width_has_a_smaller_variance(
    reading: float, work: float, excess: float, factor: float
) -> None:
    """Of as many rows as can be read and worked on, of any power of two."""

    def of_width(width: int) -> float:
        return (scattered_cost(width, factor) * reading + work) * of_bundles(1 + excess, width)

    _, width = read_of(reading, work, 1 + excess, factor=factor)
    assert width in WIDTHS
    assert of_width(width) <= 1.1 * min(map(of_width, WIDTHS))


@given(blocks=st.integers(1, 10**5), reading=st.floats(1.0, 20.0), work=st.floats(0.01, 50.0))
def test_neighbors_are_bundled_as_far_as_enough_bundles_are_read(blocks: int, reading: float, work: float) -> None:
    share, width = read_of(reading, work, 0.9, blocks)
    if width is None:
        return
    assert width == 1 or share * blocks / width >= LEAST_BUNDLES
    if width < WIDEST:
        per_share, passing = (scattered_cost(2 * width) - UNREAD_COST) * reading, UNREAD_COST * reading
        wider = min((1 - passing) / (per_share + work), (MOST_READING - passing) / per_share)
        assert max(share, wider) * blocks / (2 * width) < 1.01 * LEAST_BUNDLES


@pytest.mark.parametrize(("reading", "work"), [(0.2, 0.5), (0.95, 0.04), (0.1, 20.0), (0.3, 1.0)])
def test_everything_is_read_where_that_leaves_time_for_work_unless_it_is_known_that_blocks_are_alike(
    reading: float, work: float
) -> None:
    assert blocks_read({"packets": MANY}, (), coming(reading, work, packets=1_000_000), BUDGET).shares == {}
    assert share_of(reading, work, BELIEVED) == 1
    assert share_of(0.6, 20.0, BELIEVED) == 1 > share_of(0.6, 20.0, 1.0)


def test_everything_is_read_where_less_would_hardly_do_better() -> None:
    """At three times the load: with D = 1 the variance is 2.95 where all are read, else 2; with D = 0.9, 1.8."""
    reading, work, cheap = 3 * 0.12 / 1.12, 3 / 1.12, 1 / 6
    assert variance(1.0, reading, work, 1.0) < WORTH_LEAVING * variance(1 / 3, reading, work, 1.0, 1.0)
    assert share_of(reading, work, 1.0, factor=cheap) == 1.0
    assert share_of(reading, work, 0.9, factor=cheap) == pytest.approx(1 / 3, abs=0.01)
    assert variance(0.253, 0.38, 17.0, 1.5, 1.0) > variance(1.0, 0.38, 17.0, 1.5) / WORTH_LEAVING
    assert share_of(0.38, 17.0, 1.5, factor=cheap) == 1.0


def test_the_dearer_scattered_rows_are_the_fewer_are_read() -> None:
    factors = (0.1, 1 / 3, 2 / 3, 4 / 3)
    reads = [read_of(2.0, 20.0, 3.0, factor=factor) for factor in factors]
    shares = [share for share, _ in reads]
    assert shares == sorted(set(shares), reverse=True)
    assert share_of(0.5, 1.0, 0.0, factor=0.1) < 1
    assert all(
        reading_cost(share, scattered_cost(width or 1, factor)) * 2.0 <= MOST_READING
        for (share, width), factor in zip(reads, factors, strict=True)
    )


def test_where_scattered_blocks_take_as_long_as_all_only_what_is_worked_on_counts() -> None:
    """Blocks are alike within: half of them are worked on, though to read that half takes as long as to read all."""
    assert share_of(0.5, 1.0, 0.5, factor=4.0) == pytest.approx(0.5)


def test_of_blocks_that_are_alike_as_much_is_read_as_can_be_worked_on() -> None:
    statistics = coming(2.0, 2.0, packets=1_000_000)
    read = blocks_read({"packets": MANY}, (), statistics, BUDGET, {"packets": 1.0})
    of_those = replace(statistics, read_shares=read.shares, bundle_widths=read.widths)
    assert read.widths == {"packets": WIDEST}
    assert of_those.seconds(read.shares) == pytest.approx(BUDGET.seconds)


def test_the_more_blocks_differ_the_more_are_read_for_less_work_on_each_row() -> None:
    """Of those that differ much none are bundled."""
    reads = [read_of(2.0, 20.0, effect) for effect in (2.0, 3.0, 30.0, 100.0, 1e9)]
    shares = [share for share, _ in reads]
    assert {width for _, width in reads} == {1}
    assert shares[0] < shares[1] < shares[2] < shares[3] <= shares[4]
    assert reading_cost(shares[4], scattered_cost(1)) * 2.0 == pytest.approx(MOST_READING)


def test_each_cohort_has_a_block_if_there_is_time_to_read_as_many() -> None:
    assert share_of(1.5, 20.0, 1.0, blocks=320) == pytest.approx(COHORTS / 320)
    assert reading_cost(share_of(1.5, 20.0, 1.0, blocks=20), scattered_cost(1)) * 1.5 == pytest.approx(MOST_READING)
    assert share_of(500.0, 20.0, 1.0, blocks=20) == 1 / 20


def test_streams_share_the_time_and_those_of_which_every_row_is_needed_are_read() -> None:
    statistics = coming(2.0, 2.0, flows=1_000_000, packets=1_000_000)
    groups = {"packets": 1000, "flows": 1000}
    both = blocks_read(groups, (), statistics, BUDGET).shares
    assert both.keys() == groups.keys()
    assert len(set(both.values())) == 1
    assert blocks_read(groups, ("flows", "packets"), statistics, BUDGET).shares == {}
    assert blocks_read(groups, ("flows",), statistics, BUDGET).shares.keys() == {"packets"}


def test_a_stream_counts_by_the_work_on_it() -> None:
    statistics = coming(2.0, 20.0, flows=100, packets=1_000_000)
    groups = {"packets": MANY, "flows": MANY}
    reads = [
        blocks_read(groups, (), statistics, BUDGET, {"packets": of_packets, "flows": of_flows})
        for of_packets, of_flows in ((1.0, 1.0), (1.0, 30.0), (30.0, 30.0))
    ]
    shares = [read.shares["packets"] for read in reads]
    assert shares[0] == pytest.approx(shares[1], rel=0.01)
    assert shares[1] < 0.8 * shares[2]
    assert [dict(read.widths) for read in reads[1:]] == [{"packets": WIDEST, "flows": 1}, {"packets": 1, "flows": 1}]


def test_a_stream_without_rows_is_read() -> None:
    statistics = coming(2.0, 2.0, flows=0, packets=1_000_000)
    assert blocks_read({"packets": 1000, "flows": 1}, (), statistics, BUDGET).shares.keys() == {"packets"}


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
    shares = blocks_read({"packets": blocks}, (), statistics, BUDGET, {"packets": effect}).shares
    assert all(1 / blocks <= share < 1 for share in shares.values())
    if shares:
        assert statistics.seconds({}) > BUDGET.seconds
