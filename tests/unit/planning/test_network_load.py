import pytest

from streamshed.network.model.network import network
from streamshed.planning.load.network_load import network_load
from streamshed.statistics.group_sizes import GroupSizes
from streamshed.statistics.network_statistics import (
    Moments,
    NetworkStatistics,
    OperatorStatistics,
    QueryStatistics,
    StreamStatistics,
)
from tests.unit.planning.networks import rows_of

BIG = rows_of("packets").filter("value > 9")
NETWORK = network(
    BIG.window("10 seconds").agg(n="count(*)", total="sum(value)").query("big", weight=2, priority=1),
    BIG.window("10 seconds").agg(mean="avg(value)").query("mean"),
    rows_of("packets").window("10 seconds").by("value").agg(n="count(*)").query("groups"),
    rows_of("packets").window("10 seconds").agg(most="max(value)").query("most"),
    rows_of("packets").window("10 seconds").agg(n="count(*)").query("exact", mode="exact"),
    BIG.query("rows"),
)
KNOWN = NetworkStatistics(
    fixed_seconds=0.5,
    streams={
        "packets": StreamStatistics(rows_per_second=1000.0, read_seconds_per_row=1e-5, parse_seconds_per_row=1e-4)
    },
    operators={BIG.node.address: OperatorStatistics(selectivity=0.2, seconds_per_row=1e-3)},
    queries={
        "big": QueryStatistics(seconds_per_row=2e-3, moments={"total": Moments(mean=10.0, deviation=20.0)}),
        "mean": QueryStatistics(moments={"mean": Moments(mean=10.0, deviation=20.0)}),
        "groups": QueryStatistics(seconds_per_group=0.01, groups=GroupSizes(((1980.0, 5.0), (1.0, 100.0)))),
    },
)


def test_each_node_takes_its_rows_by_their_cost() -> None:
    load = network_load(NETWORK, KNOWN, trigger_interval_seconds=2.0, load_factor=3.0)
    seconds = {node.name: node.seconds for node in load.tree.nodes}
    assert load.unsheddable_seconds == pytest.approx(0.5 + 6000 * 1e-5)
    assert seconds["packets"] == pytest.approx(6000 * 1e-4)
    assert seconds["filter value > 9"] == pytest.approx(6000 * 1e-3)
    assert seconds["big"] == pytest.approx(6000 * 0.2 * 2e-3)
    assert load.unshed_seconds == pytest.approx(load.unsheddable_seconds + sum(seconds.values()))


def test_groups_cost_where_a_row_of_the_micro_batch_falls_into_them() -> None:
    load = network_load(NETWORK, KNOWN, trigger_interval_seconds=2.0)
    [node] = [node for node in load.tree.nodes if node.groups is not None]
    assert node.seconds == pytest.approx((5 + 100 * 0.2) * 0.01, rel=0.01)


def test_errors_depend_on_rows_and_values_of_the_window() -> None:
    demands = {demand.query: demand for demand in network_load(NETWORK, KNOWN, trigger_interval_seconds=2.0).demands}
    assert demands["big"].coefficient == pytest.approx((1 + 4) / 2000), "of its sum, harder than its count"
    assert demands["mean"].coefficient == pytest.approx(4 / 2000), "an average's count is estimated along with its sum"
    assert demands["groups"].coefficient == pytest.approx(1 / 1980), "groups of one row do not count"
    assert demands["rows"].coefficient == 1.0
    assert (demands["big"].weight, demands["big"].priority) == (2, 1)
    assert {name for name, demand in demands.items() if demand.is_protected} == {"most", "exact"}


def test_twice_the_load_halves_the_coefficients() -> None:
    once, twice = (
        network_load(NETWORK, KNOWN, trigger_interval_seconds=2.0, load_factor=factor).demands for factor in (1.0, 2.0)
    )
    for one, two in zip(once, twice, strict=True):
        if one.query != "rows":
            assert two.coefficient == pytest.approx(one.coefficient / 2)


def test_of_what_nothing_is_known_it_costs_nothing_and_answers_are_hard() -> None:
    load = network_load(NETWORK, NetworkStatistics(), trigger_interval_seconds=2.0)
    assert load.unshed_seconds == 0.0
    assert {demand.coefficient for demand in load.demands} == {1.0}


def test_an_average_of_values_that_were_alike_is_not_given_up() -> None:
    known = NetworkStatistics(
        streams={"packets": StreamStatistics(rows_per_second=1000.0)},
        queries={"mean": QueryStatistics(moments={"mean": Moments(mean=10.0, deviation=0.0)})},
    )
    asked = network(rows_of("packets").window("10 seconds").agg(mean="avg(value)").query("mean"))
    [demand] = network_load(asked, known, trigger_interval_seconds=2.0).demands
    assert demand.coefficient == pytest.approx(0.01 / 10_000)


def test_a_count_is_as_sure_whatever_the_values_beside_it() -> None:
    known = NetworkStatistics(
        streams={"packets": StreamStatistics(rows_per_second=1000.0)},
        queries={"values": QueryStatistics(moments={"n": Moments(mean=10.0, deviation=90.0)})},
    )
    asked = network(rows_of("packets").window("10 seconds").agg(n="count(value)").query("values"))
    [demand] = network_load(asked, known, trigger_interval_seconds=2.0).demands
    assert demand.coefficient == pytest.approx(1 / 10_000)


@pytest.mark.parametrize(("call", "coefficient"), [("count_if(value > 9)", 1 / 500), ("sum(value)", 5 / 500)])
def test_rows_that_a_filter_leaves_out_tell_nothing(call: str, coefficient: float) -> None:
    known = NetworkStatistics(
        streams={"packets": StreamStatistics(rows_per_second=1000.0)},
        queries={"some": QueryStatistics(moments={"a": Moments(mean=10.0, deviation=20.0, present_share=0.05)})},
    )
    asked = network(rows_of("packets").window("10 seconds").agg(a=call, n="count(*)").query("some"))
    [demand] = network_load(asked, known, trigger_interval_seconds=2.0).demands
    assert demand.coefficient == pytest.approx(coefficient)


def test_arithmetic_demands_what_its_hardest_part_does() -> None:
    moments = {"x: sum(value)": Moments(mean=10.0, deviation=20.0), "x: sum(value * value)": Moments(deviation=3.0)}
    known = NetworkStatistics(
        streams={"packets": StreamStatistics(rows_per_second=1000.0)}, queries={"q": QueryStatistics(moments=moments)}
    )
    asked = rows_of("packets").window("10 seconds").agg(x="sum(value) / sum(value * value) - count(*)").query("q")
    [demand] = network_load(network(asked), known, trigger_interval_seconds=2.0).demands
    assert demand.coefficient == pytest.approx((1 + 9) / 10_000)
    assert not demand.is_protected


def test_spreads_depend_on_the_fourth_power_of_values() -> None:
    known = NetworkStatistics(streams={"packets": StreamStatistics(rows_per_second=1000.0)})
    window = rows_of("packets").window("10 seconds")
    asked = network(
        window.agg(spread="stddev(value)").query("deviation"), window.agg(spread="var_pop(value)").query("variance")
    )
    first, second = network_load(asked, known, trigger_interval_seconds=2.0).demands
    assert first.coefficient == pytest.approx(2 / 10_000)
    assert second.coefficient == pytest.approx(8 / 10_000)
