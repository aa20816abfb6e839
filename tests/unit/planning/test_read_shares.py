"""Which share of its rows a stream reads where reading takes most of the time."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamshed.network.run.load_prior import LoadPrior
from streamshed.planning.plan.budget import Budget
from streamshed.planning.plan.read_shares import ENOUGH_BLOCKS, WORTH_LEAVING, read_shares
from streamshed.statistics.forecast import Statistics
from streamshed.statistics.load_model import LoadModel
from streamshed.statistics.speedup import UNREAD_COST, reading_cost

BUDGET = Budget(trigger_interval_seconds=2.5, deadline_seconds=2.5, headroom=0.8)
"""1 s for rows, beside a fixed second."""


def coming(reading: float, work: float, **rows: int) -> Statistics:
    """Rows that take so many seconds to read, and to work on, where there are a million."""
    prior = LoadPrior(fixed_seconds=1.0, seconds_per_row=(reading + work) * 1e-6, read_share=reading / (reading + work))
    return Statistics(offered_rows=rows, load_model=LoadModel.initial(sorted(rows), prior))


@pytest.mark.parametrize(("reading", "work"), [(0.2, 0.5), (0.95, 0.04), (0.1, 20.0), (0.3, 1.0)])
def test_everything_is_read_where_that_leaves_time_for_work(reading: float, work: float) -> None:
    statistics = coming(reading, work, packets=1_000_000)
    assert read_shares({"packets": 1000}, (), statistics, BUDGET) == {}


def test_as_much_is_read_as_can_be_worked_on_if_these_are_many_blocks() -> None:
    statistics = coming(2.0, 2.0, packets=1_000_000)
    [share] = read_shares({"packets": 10_000}, (), statistics, BUDGET).values()
    of_those = Statistics(
        offered_rows=statistics.offered_rows, load_model=statistics.load_model, read_shares={"packets": share}
    )
    assert of_those.seconds({"packets": share}) == pytest.approx(BUDGET.seconds)


def test_of_few_blocks_more_are_read_and_less_is_done_on_each_row() -> None:
    statistics = coming(1.0, 20.0, packets=1_000_000)
    many, fewer, few = (
        read_shares({"packets": count}, (), statistics, BUDGET)["packets"] for count in (100_000, 4 * ENOUGH_BLOCKS, 50)
    )
    assert many < fewer == pytest.approx(1 / 4)
    passing = UNREAD_COST
    assert fewer < few == pytest.approx((0.5 - passing) / (1.0 - passing))


def test_few_blocks_are_all_read_where_that_leaves_time_for_work() -> None:
    statistics = coming(0.89, 20.0, packets=1_000_000)
    assert read_shares({"packets": ENOUGH_BLOCKS}, (), statistics, BUDGET) == {}
    assert read_shares({"packets": 2 * ENOUGH_BLOCKS}, (), statistics, BUDGET) == {"packets": 0.5}


def test_streams_share_the_time_and_those_of_which_every_row_is_needed_are_read() -> None:
    statistics = coming(2.0, 2.0, flows=1_000_000, packets=1_000_000)
    groups = {"packets": 1000, "flows": 1000}
    both = read_shares(groups, (), statistics, BUDGET)
    assert both.keys() == groups.keys()
    assert len(set(both.values())) == 1
    assert read_shares(groups, ("flows", "packets"), statistics, BUDGET) == {}
    assert read_shares(groups, ("flows",), statistics, BUDGET).keys() == {"packets"}


def test_a_stream_without_rows_is_read() -> None:
    statistics = coming(2.0, 2.0, flows=0, packets=1_000_000)
    assert read_shares({"packets": 1000, "flows": 1}, (), statistics, BUDGET).keys() == {"packets"}


@given(
    reading=st.floats(1e-3, 1e3),
    work=st.floats(1e-3, 1e3),
    blocks=st.integers(1, 100_000),
    rows=st.integers(1, 10**8),
)
def test_a_share_is_one_of_rows_and_never_leaves_a_calm_load_unread(
    reading: float, work: float, blocks: int, rows: int
) -> None:
    statistics = coming(reading, work, packets=rows)
    shares = read_shares({"packets": blocks}, (), statistics, BUDGET)
    left = BUDGET.seconds - statistics.load_model.fixed_seconds
    assert all(0 < share < 1 and math.isfinite(share) for share in shares.values())
    for share in shares.values():
        assert statistics.seconds({}) > BUDGET.seconds
        reading = statistics.read_seconds("packets")
        useful, useful_of_all = (max(0.0, left - cost * reading) for cost in (reading_cost(share), 1.0))
        assert useful >= WORTH_LEAVING * useful_of_all
        assert useful <= share * statistics.work_seconds("packets") * (1 + 1e-9)
