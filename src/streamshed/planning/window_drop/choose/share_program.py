"""The linear program behind shares of windows: the most that they can be worth within a load that is linear in them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import optimize, sparse

from streamshed.planning.tree.work_tree import Vector, WorkTree


@dataclass(frozen=True)
class ShareProgram:
    """Maximize Σ w_q·r_q over shares r, where m_xf is at least the share of each query of family f at node x and below.

    Attributes:
        tree: Whose nodes the rows come to.
        families: By the number of each query that takes part, which others it drops together with.
        worth: w, per query.
        least: The smallest share of each.
        most: The largest.
    """

    tree: WorkTree
    families: Mapping[int, Hashable]
    worth: Vector
    least: Vector
    most: Vector

    @cached_property
    def names(self) -> tuple[Hashable, ...]:
        """The families, each once."""
        return tuple(dict.fromkeys(self.families.values()))

    def largest(self, shares: Vector) -> Vector:
        """Return m: per family and node, the largest share at it and below."""
        family_shares = np.zeros((len(self.names), len(shares)))
        for query, family in self.families.items():
            family_shares[self.names.index(family), query] = shares[query]
        largest_shares = [self.tree.node_rates(of_family) for of_family in family_shares]
        return np.array(largest_shares).reshape(len(self.names), len(self.tree.nodes))

    def needed_by_any(self, shares: Vector) -> Vector:
        """Return, per node, the share of epochs that some query keeps: 1 − Π_f (1 − m_xf)."""
        return np.asarray(1 - np.prod(1 - self.largest(shares), axis=0))

    def slopes(self, shares: Vector) -> Vector:
        """Return, per family and node, how fast that grows with m_xf: Π_g≠f (1 − m_xg)."""
        rest = 1 - self.largest(shares)
        others = [np.delete(rest, family, axis=0).prod(axis=0) for family in range(len(self.names))]
        return np.array(others)

    def best(self, of_shares: Sequence[float], of_largest: Vector, budget: float) -> Vector | None:
        """Return the shares that are worth most; None: nothing fits.

        Args:
            of_shares: What the load grows by with the share of each query.
            of_largest: And with m, per family and node.
            budget: What all of it may come to.
        """
        load = sparse.csr_matrix(np.concatenate((of_shares, of_largest.ravel()))[None, :])
        rows = sparse.vstack((load, self._at_least))
        count, others = len(self.worth), of_largest.size
        solved = optimize.milp(
            np.concatenate((-self.worth, np.zeros(others))),
            constraints=optimize.LinearConstraint(rows.tocsr(), ub=np.array([budget, *[0.0] * (rows.shape[0] - 1)])),
            bounds=optimize.Bounds(
                np.concatenate((self.least, np.zeros(others))), np.concatenate((self.most, np.ones(others)))
            ),
        )
        return np.clip(solved.x[:count], 0.0, 1.0) if solved.success else None

    @cached_property
    def _at_least(self) -> sparse.csr_matrix:
        """Rows that are at most 0: r_q − m_xf at the node of a query, m_xf − m_yf where y is above x."""
        nodes, queries = len(self.tree.nodes), len(self.worth)
        pairs = [
            (query, queries + self.names.index(family) * nodes + self.tree.query_nodes[query])
            for query, family in sorted(self.families.items())
        ]
        for family in range(len(self.names)):
            first = queries + family * nodes
            pairs += [
                (first + number, first + node.parent)
                for number, node in enumerate(self.tree.nodes)
                if node.parent is not None
            ]
        columns = np.array(pairs).reshape(-1, 2)
        numbers = np.repeat(np.arange(len(pairs)), 2)
        signs = np.tile([1.0, -1.0], len(pairs))
        shape = (len(pairs), queries + len(self.names) * nodes)
        return sparse.csr_matrix((signs, (numbers, columns.ravel())), shape=shape)
