"""Whose rows are counted above a function, at which rate, and what that is expected to save."""

from __future__ import annotations

import pandas as pd
import pytest

from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import QueryNetwork, network
from streamshed.network.model.query import Query
from streamshed.network.model.rows import Rows
from streamshed.network.run.load_prior import LoadPrior
from streamshed.network.source.sources import rate
from streamshed.planning.load.network_load import network_load
from streamshed.planning.plan.coming_work import coming_work
from streamshed.planning.plan.policies import policy_named
from streamshed.planning.plan.query_rates import QueryRates
from streamshed.planning.tree.quantization import WHOLE, sampling_rate_of
from streamshed.statistics.forecast import Statistics
from streamshed.statistics.load_model import LoadModel
from streamshed.statistics.network_statistics import (
    Moments,
    NetworkStatistics,
    OperatorStatistics,
    QueryStatistics,
    StreamStatistics,
)
from tests.oracles.explaining import explain

TICKS = stream("ticks", rate(1), time="timestamp")
ODD = TICKS.filter("value % 2 = 1")


def _weigh(values: pd.Series) -> pd.Series:
    return values * 2.0


WEIGHED = ODD.apply(_weigh, columns=["value"], into="weight", returns="double")
HEAVY = WEIGHED.filter("weight > 10")


def _counting(node: Rows = HEAVY, name: str = "heavy", **asked: str) -> Query:
    return node.window("10 seconds").agg(**(asked or {"n": "count(*)"})).query(name)


def _known(of: QueryNetwork, selectivity: float = 0.5) -> NetworkStatistics:
    return NetworkStatistics(
        fixed_seconds=0.1,
        streams={"ticks": StreamStatistics(rows_per_second=100_000.0, read_seconds_per_row=1e-7)},
        operators={
            ODD.node.address: OperatorStatistics(selectivity=0.5, seconds_per_row=1e-7),
            WEIGHED.node.address: OperatorStatistics(seconds_per_row=2e-5),
            HEAVY.node.address: OperatorStatistics(selectivity=selectivity),
        },
        queries={
            query.name: QueryStatistics(seconds_per_row=2e-7, moments={"total": Moments(mean=3.0, deviation=3.0)})
            for query in of.queries
        },
    )


def _counted(of: QueryNetwork, **known: float) -> dict[str, float]:
    """By query, the coefficient of counting."""
    load = network_load(of, _known(of, **known), trigger_interval_seconds=1.0, counted_rows=True)
    return {str(demand.counts_for): demand.coefficient for demand in load.demands if demand.counts_for is not None}


def test_of_a_count_below_a_function_the_rows_that_come_to_it_are_counted() -> None:
    """In 10 s half of a million rows come to it, half of them pass."""
    asked = network(_counting())
    assert _counted(asked) == {"heavy": pytest.approx(1 / 500_000)}
    load = network_load(asked, _known(asked), trigger_interval_seconds=1.0, counted_rows=True)
    assert load.demands[0].coefficient == pytest.approx(1 / 250_000 - 1 / 500_000)


def test_both_parts_make_up_the_squared_error() -> None:
    asked = network(_counting(total="sum(weight)"))
    whole = network_load(asked, _known(asked), trigger_interval_seconds=1.0)
    parts = network_load(asked, _known(asked), trigger_interval_seconds=1.0, counted_rows=True)
    assert sum(demand.coefficient for demand in parts.demands) == pytest.approx(whole.demands[0].coefficient)


@pytest.mark.parametrize(
    "query",
    [
        _counting(ODD),
        _counting(mean="avg(weight)"),
        _counting(spread="variance(weight)"),
        HEAVY.window("10 seconds").by("value").agg(n="count(*)").query("heavy"),
        HEAVY.window("10 seconds").agg(n="count(*)").query("heavy", max_error="2 % at 95 %"),
        HEAVY.window("10 seconds").agg(n="count(*)").query("heavy", mode="exact"),
        HEAVY.query("heavy"),
    ],
    ids=["no function", "average", "variance", "by groups", "goal", "exact", "rows"],
)
def test_rows_are_not_counted_for(query: Query) -> None:
    assert _counted(network(query)) == {}


def test_rows_are_not_counted_where_few_of_them_pass() -> None:
    """A tenth of the squared error would be saved."""
    assert _counted(network(_counting()), selectivity=0.1) == {}


def _planned(policy: str, share_code: int) -> QueryRates:
    asked = network(_counting(), _counting(ODD, "odd"))
    chosen = policy_named(policy)
    prior = LoadPrior(fixed_seconds=0.1, seconds_per_row=1e-5, read_share=0.01)
    work = coming_work(
        asked,
        _known(asked),
        Statistics(offered_rows={"ticks": 100_000}, load_model=LoadModel.initial(["ticks"], prior)),
        trigger_interval_seconds=1.0,
        large_values=chosen.large_values,
        counted_rows=chosen.counted_rows,
    )
    return chosen.query_rates(work, {"ticks": share_code})


def test_more_rows_are_counted_than_are_in_the_sample() -> None:
    rates = _planned("least_error", 40)
    assert set(rates.codes) == {"heavy", "odd"}
    assert set(rates.counting) == {"heavy"}
    assert WHOLE < rates.counting["heavy"] < rates.codes["heavy"]
    assert set(rates.expected_errors) == {"heavy", "odd"}
    squared = sum(
        share * (1 - sampling_rate_of(code)) / sampling_rate_of(code) / 1_000_000
        for share, code in ((4 - 2, rates.codes["heavy"]), (2, rates.counting["heavy"]))
    )
    assert rates.expected_errors["heavy"] ** 2 == pytest.approx(squared)


def test_while_nothing_is_shed_nothing_is_counted() -> None:
    rates = _planned("least_error", WHOLE)
    assert rates.counting == {}
    assert rates.expected_errors == {"heavy": 0.0, "odd": 0.0}


@pytest.mark.parametrize("policy", ["uniform", "hoeffding", "equal_error"])
def test_other_policies_do_without(policy: str) -> None:
    assert _planned(policy, 24).counting == {}


def test_the_error_expected_is_smaller_by_it() -> None:
    asked = network(_counting(), _counting(ODD, "odd"))
    outlook = {one.query: one for one in explain(asked, _known(asked), load_factor=5).outlooks}
    heavy = outlook["heavy"]
    assert heavy.counting_rate is not None
    assert outlook["odd"].counting_rate is None
    p = heavy.effective_sampling_rate
    without = ((1 - p) / p / 250_000) ** 0.5
    assert heavy.expected_error < 0.9 * without
    assert set(outlook) == {"heavy", "odd"}
    unshed = explain(asked, _known(asked), load_factor=0.5).outlooks
    assert [one.counting_rate for one in unshed] == [None, None]
