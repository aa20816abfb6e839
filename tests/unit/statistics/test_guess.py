"""What queries cost that were never measured: as much as the engine does for them, which is little where they share."""

from dataclasses import replace

import pytest

from streamshed.network.model.network import network
from streamshed.planning.load.network_load import network_load
from streamshed.planning.rates.least_error import least_error_rates
from streamshed.statistics.guess import (
    CHEAP_SECONDS,
    SHARED_SECONDS,
    SLICE_SECONDS,
    believed_statistics,
    guessed_statistics,
)
from streamshed.statistics.network_statistics import (
    Moments,
    NetworkStatistics,
    OperatorStatistics,
    QueryStatistics,
    StreamStatistics,
)
from tests.unit.planning.networks import rows_of

ROWS = rows_of("packets")
TALL = ROWS.filter("value > 3")


def test_a_query_alone_takes_its_rows_into_slices_itself() -> None:
    known = guessed_statistics(network(TALL.window("1 minute").agg(n="count(*)").query("tall")))
    assert known.queries["tall"].seconds_per_row == SLICE_SECONDS
    assert known.stream("packets").parse_seconds_per_row == 0.0


def test_queries_with_the_same_keys_share_the_way_into_slices_where_their_ways_part() -> None:
    below = TALL.filter("value < 9")
    known = guessed_statistics(
        network(
            TALL.window("1 minute").agg(n="count(*)").query("tall"),
            below.window("10 seconds").agg(n="count(*)", total="sum(value)").query("middle"),
            below.window("10 seconds").by(parity="value % 2").agg(n="count(*)").query("by_parity"),
        )
    )
    assert {name: one.seconds_per_row for name, one in known.queries.items()} == {
        "tall": SHARED_SECONDS,
        "middle": SHARED_SECONDS,
        "by_parity": SLICE_SECONDS,
    }
    assert known.operators[TALL.node.address].seconds_per_row == pytest.approx(CHEAP_SECONDS + SLICE_SECONDS)
    assert known.operators[below.node.address].seconds_per_row == CHEAP_SECONDS


def test_queries_that_ask_the_same_cost_as_much_as_one() -> None:
    asked = TALL.window("1 minute").agg(n="count(*)")
    known = guessed_statistics(network(asked.query("a"), asked.query("b")))
    assert sum(one.seconds_per_row for one in known.queries.values()) == pytest.approx(SLICE_SECONDS)


def test_what_costs_next_to_nothing_is_not_shed_further() -> None:
    """A row that is there for a rare query serves one that has many rows, too."""
    asked = network(
        ROWS.filter("value = 1").filter("value < 9").window("1 minute").agg(n="count(*)").query("rare"),
        ROWS.window("1 minute").agg(n="count(*)").query("all"),
    )
    load = network_load(asked, guessed_statistics(asked), trigger_interval_seconds=2.0, load_factor=100.0)
    rare, every = least_error_rates(load.tree, load.demands, load.tree.node_seconds.sum() / 3)
    assert every == pytest.approx(rare, rel=0.2)


BELIEVED = network(
    TALL.window("1 minute").agg(total="sum(value)").query("tall"),
    rows_of("flows").filter("value > 3").window("1 minute").agg(n="count(*)").query("flows"),
)
GUESSED = guessed_statistics(BELIEVED)


def test_nothing_that_is_given_leaves_the_guess() -> None:
    assert believed_statistics(BELIEVED, None) == GUESSED
    assert believed_statistics(BELIEVED, NetworkStatistics()) == GUESSED


def test_what_is_given_without_costs_is_given_those_that_are_guessed() -> None:
    """Else nothing would cost anything, and nothing could be shed."""
    moments = {"total": Moments(mean=3.0)}
    given = NetworkStatistics(
        streams={"packets": StreamStatistics(rows_per_second=7.0)},
        operators={TALL.node.address: OperatorStatistics(selectivity=0.01)},
        queries={"tall": QueryStatistics(moments=moments)},
    )
    believed = believed_statistics(BELIEVED, given)
    assert believed.fixed_seconds == GUESSED.fixed_seconds
    assert believed.stream("packets") == replace(GUESSED.stream("packets"), rows_per_second=7.0)
    assert believed.operators[TALL.node.address] == replace(GUESSED.operators[TALL.node.address], selectivity=0.01)
    assert believed.queries["tall"] == replace(GUESSED.queries["tall"], moments=moments)
    assert believed.stream("flows") == GUESSED.stream("flows")


def test_costs_that_are_given_stand_though_some_are_nothing() -> None:
    costly = OperatorStatistics(seconds_per_row=1e-3)
    given = NetworkStatistics(
        fixed_seconds=0.1,
        streams={"packets": StreamStatistics(rows_per_second=7.0)},
        operators={TALL.node.address: costly, "strange > filter x": costly},
        queries={"tall": QueryStatistics(), "flows": QueryStatistics()},
    )
    believed = believed_statistics(BELIEVED, given)
    assert believed.fixed_seconds == 0.1
    assert believed.stream("packets") == given.stream("packets")
    assert believed.operators[TALL.node.address] == costly
    assert believed.queries["tall"].seconds_per_row == 0.0
    assert believed.queries["flows"] == GUESSED.queries["flows"], "of its stream nothing is given that costs"
    assert set(believed.operators) == set(GUESSED.operators)
