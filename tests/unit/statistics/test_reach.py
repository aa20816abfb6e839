"""Which share of the rows passes each node: measured here and there, believed between."""

import pytest

from streamshed.network.model.network import QueryNetwork, network
from streamshed.network.model.rows import Rows
from streamshed.statistics.network_statistics import OperatorStatistics
from streamshed.statistics.reach import reach_between
from tests.unit.planning.networks import rows_of

ROWS = rows_of("packets")
A = ROWS.filter("value > 3")
MAPPED = A.map(half="value / 2")
B = MAPPED.filter("half < 9")
C = A.filter("value % 2 = 0")


def asking(*nodes: Rows) -> QueryNetwork:
    """A network of queries for the rows of some nodes."""
    return network(*(node.query(f"query_{number}") for number, node in enumerate(nodes)))


def believing(**selectivities: float) -> dict[str, OperatorStatistics]:
    nodes = {"a": A, "b": B, "c": C}
    return {nodes[name].node.address: OperatorStatistics(selectivity=s) for name, s in selectivities.items()}


def test_without_measurements_nothing_is_known() -> None:
    assert reach_between(asking(B), {}, believing(a=0.5)) == {}


@pytest.mark.parametrize(("believed", "expected"), [((0.5, 0.02), 0.5), ((0.02, 0.5), 0.02), ((0.5, 0.5), 0.1)])
def test_what_was_dropped_is_laid_to_those_who_are_believed_to(believed: tuple[float, float], expected: float) -> None:
    a, b = believed
    reach = reach_between(asking(B), {B.node: 0.01}, believing(a=a, b=b))
    assert reach == pytest.approx({ROWS.node: 1.0, A.node: expected, MAPPED.node: expected, B.node: 0.01})


def test_where_nobody_is_believed_to_drop_rows_all_who_may_are_alike() -> None:
    reach = reach_between(asking(B), {B.node: 0.01}, believing(a=1.0))
    assert reach == pytest.approx({ROWS.node: 1.0, A.node: 0.1, MAPPED.node: 0.1, B.node: 0.01})


def test_what_cannot_drop_rows_is_never_found_to() -> None:
    only = ROWS.map(half="value / 2")
    assert reach_between(asking(only), {only.node: 0.97}, {}) == {ROWS.node: 1.0, only.node: 1.0}
    twice = only.map(quarter="half / 2")
    assert reach_between(asking(twice), {twice.node: 0.97}, {}) == {ROWS.node: 1.0, only.node: 1.0, twice.node: 1.0}


def test_a_query_of_which_nothing_is_measured_keeps_the_rows_it_is_believed_to_get() -> None:
    reach = reach_between(asking(B, A), {B.node: 0.01}, believing(a=0.5, b=0.5))
    assert reach == pytest.approx({ROWS.node: 1.0, A.node: 0.5, MAPPED.node: 0.5, B.node: 0.01})
    below = reach_between(asking(B, C), {B.node: 0.01}, believing(a=0.5, b=0.5, c=0.1))
    assert below[A.node] == pytest.approx(0.5), "it gets a tenth of what is believed to pass the first filter"


def test_what_a_function_is_given_is_what_the_operator_above_it_passes() -> None:
    """So no query beside it gets more, whatever was believed."""
    called = MAPPED.apply("math:sqrt", columns=["half"], into="root", returns="double")
    reach = reach_between(asking(called, C), {called.node: 0.01}, believing(a=0.5, c=0.5))
    assert reach == pytest.approx({ROWS.node: 1.0, A.node: 0.01, MAPPED.node: 0.01, called.node: 0.01})


def test_a_node_that_was_measured_itself_stands() -> None:
    reach = reach_between(asking(B, A), {A.node: 0.2, B.node: 0.01}, believing(a=0.9, b=0.9))
    assert (reach[A.node], reach[B.node]) == pytest.approx((0.2, 0.01))


def test_a_node_has_what_all_below_it_ask_for() -> None:
    reach = reach_between(asking(B, C), {B.node: 0.01, C.node: 0.3}, believing(a=0.5, b=0.5, c=0.5))
    assert reach[A.node] == pytest.approx(0.3**0.5)


@pytest.mark.parametrize("above", [0.2, 1.1])
def test_what_was_measured_with_noise_grows_on_no_way_down(above: float) -> None:
    reach = reach_between(asking(A, B), {A.node: above, B.node: 0.3}, believing(a=0.5, b=0.5))
    assert reach[B.node] == pytest.approx(0.3)
    assert reach[B.node] <= reach[MAPPED.node] <= reach[A.node] <= reach[ROWS.node] == 1.0


def test_no_rows_at_all_are_next_to_none() -> None:
    reach = reach_between(asking(B), {B.node: 0.0}, believing(a=0.5, b=0.5))
    assert 0 < reach[B.node] < reach[A.node] < 1e-3


def test_a_belief_that_nothing_passes_can_be_refuted() -> None:
    reach = reach_between(asking(B), {B.node: 0.25}, believing(a=0.0, b=1.0))
    assert reach[A.node] == pytest.approx(0.25)
