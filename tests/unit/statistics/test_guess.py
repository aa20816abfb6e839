"""What queries cost that were never measured: as much as the engine does for them, which is little where they share."""

import pytest

from streamshed.network.network import network
from streamshed.planning.least_error import least_error_rates
from streamshed.planning.network_load import network_load
from streamshed.statistics.guess import CHEAP_SECONDS, SHARED_SECONDS, SLICE_SECONDS, guessed_statistics
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
    assert known.operators[TALL.address].seconds_per_row == pytest.approx(CHEAP_SECONDS + SLICE_SECONDS)
    assert known.operators[below.address].seconds_per_row == CHEAP_SECONDS


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
