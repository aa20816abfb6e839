"""No placement of samplers that gives all queries their rates is cheaper."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamshed.planning.place.placement import Sampler, edge_rates, samplers
from streamshed.planning.tree.work_tree import Vector, WorkTree
from tests.property.planning.trees import COSTS, trees

RATES = st.sampled_from((0.1, 0.25, 0.5, 0.8, 1.0))


@st.composite
def trees_and_rates(draw: st.DrawFn) -> tuple[WorkTree, Vector]:
    tree = draw(trees(most_queries=3))
    return tree, np.array([draw(RATES) for _ in tree.query_nodes])


def _placements(tree: WorkTree, rates: Vector) -> Iterator[list[float]]:
    """Every way to set edge rates from quotients of the rates in question such that all queries get theirs."""
    candidates = sorted({1.0, *(a / b for a in rates for b in (*rates, 1.0) if a <= b)})
    for edges in itertools.product(candidates, repeat=len(tree.nodes)):
        passing: list[float] = []
        for node, edge in zip(tree.nodes, edges, strict=True):
            passing.append(edge * (1.0 if node.parent is None else passing[node.parent]))
        if all(math.isclose(passing[at], rate) for at, rate in zip(tree.query_nodes, rates, strict=True)):
            yield list(edges)


def _seconds(tree: WorkTree, edges: list[float], number_seconds: float = 0.0) -> float:
    """The load equation of [B04] §2.2, term by term, and what the rows' numbers take if anybody asks for them."""
    total = number_seconds if min(edges) < 1 else 0.0
    passing: list[float] = []
    for node, edge in zip(tree.nodes, edges, strict=True):
        arriving = 1.0 if node.parent is None else passing[node.parent]
        passing.append(arriving * edge)
        total += node.seconds * arriving * edge
    return total


def _edges(tree: WorkTree, placed: tuple[Sampler, ...]) -> list[float]:
    rates = {sampler.node: sampler.sampling_rate for sampler in placed}
    return [rates.get(index, 1.0) for index in range(len(tree.nodes))]


def _is_small(tree: WorkTree) -> bool:
    return len(tree.nodes) <= 5


@given(trees_and_rates().filter(lambda drawn: _is_small(drawn[0])), COSTS)
def test_no_placement_is_cheaper_than_that_of_set_sampling_rate(
    drawn: tuple[WorkTree, Vector], number_seconds: float
) -> None:
    """Whatever the number costs that samplers compare: it is hashed once per row, wherever they are."""
    tree, rates = drawn
    ours = _edges(tree, samplers(tree, rates))
    assert _seconds(tree, ours) == pytest.approx(tree.load_seconds(rates))
    least = min(_seconds(tree, edges, number_seconds) for edges in _placements(tree, rates))
    assert _seconds(tree, ours, number_seconds) <= least * (1 + 1e-9)


@given(trees_and_rates())
def test_rates_on_every_path_multiply_to_that_of_its_query(drawn: tuple[WorkTree, Vector]) -> None:
    tree, rates = drawn
    edges = _edges(tree, samplers(tree, rates))
    for query, at in enumerate(tree.query_nodes):
        product = 1.0
        node: int | None = at
        while node is not None:
            product, node = product * edges[node], tree.nodes[node].parent
        assert product == pytest.approx(rates[query])


@given(trees_and_rates())
def test_the_child_that_asks_for_most_has_no_sampler(drawn: tuple[WorkTree, Vector]) -> None:
    tree, rates = drawn
    sampled = {sampler.node for sampler in samplers(tree, rates)}
    for children in tree.children:
        if children:
            assert not sampled.issuperset(children)


@given(given_rates=trees_and_rates())
def test_edge_rates_are_those_of_the_samplers(given_rates: tuple[WorkTree, Vector]) -> None:
    tree, rates = given_rates
    assert edge_rates(tree, rates) == {one.node: one.sampling_rate for one in samplers(tree, rates)}
