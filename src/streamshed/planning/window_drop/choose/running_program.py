"""Who runs where not all may: the mixed-integer program behind the set of queries that is worth most.

As `window_shares` has it, with z_q ∈ {0, 1} for whether query q runs, u_x the share of epochs that some query at node
x and below keeps, and c_x the share of its rows that windows need:

    maximize Σ w_q·r_q   subject to   z_q/(B_q+1) ≤ r_q ≤ z_q · (the most that it may keep)
                                      Σ_x T_x·(P_x + (1 − P_x)·c_x) + Σ_q V_q·r_q ≤ budget

An epoch that is dropped saves what the query saves least that runs: c_x ≥ 1 − e_q·(1 − u_x) for each that runs at x or
below. As e_q ≤ 1, (1 − e_q)·z_q + e_q·u_x ≤ c_x says no more than that of those that do not run. Where only queries
run that keep few windows, c_x ≥ l_q·u_x instead; y_x ∈ {0, 1} is whether another one runs.

u_x is the largest share where all queries are of one family. Of several it is 1 − Π_f (1 − m_xf), and the program has
it as it is near some shares. Near none it is Σ_f m_xf: never less than it is, so a set that fits then does fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy import optimize, sparse

from streamshed.planning.tree.work_tree import Vector, WorkTree
from streamshed.planning.window_drop.choose.share_program import ShareProgram
from streamshed.planning.window_drop.windows.window_demand import WindowDemand

ALIKE = 1e-3
"""A set may be worth less than the best by no larger share than this."""

MOST_NODES = 8
"""Nodes of the search tree, at most: then the best set so far is taken. Ten queries seldom need as many."""

_HALF = 0.5


@dataclass
class _Rows:
    """Rows of a sparse matrix A with A·x ≤ limits."""

    entries: list[tuple[int, int, float]] = field(default_factory=list)
    limits: list[float] = field(default_factory=list)

    def add(self, entries: Sequence[tuple[int, float]], limit: float = 0.0) -> None:
        """Add a row of (column, coefficient)."""
        self.entries += [(len(self.limits), column, coefficient) for column, coefficient in entries]
        self.limits.append(limit)

    def constraint(self, columns: int) -> optimize.LinearConstraint:
        """Return all of it as SciPy takes it."""
        rows, places, coefficients = zip(*self.entries, strict=True)
        matrix = sparse.csr_matrix((coefficients, (rows, places)), shape=(len(self.limits), columns))
        return optimize.LinearConstraint(matrix, ub=np.array(self.limits))


@dataclass(frozen=True)
class RunningProgram:
    """The queries of which some may be shut down, so that the others fit.

    Columns are r and z per query, m per family and node, c and y per node.

    Attributes:
        tree: What rows cost.
        demands: The queries, in the tree's order. Those that are answered from samples ask for their share.
        must_run: Those that run in any case.
        budget_seconds: What all of it may take.
        near: Shares near which the needs of several families are made linear; zeros: never less than they are.
    """

    tree: WorkTree
    demands: Sequence[WindowDemand]
    must_run: frozenset[int]
    budget_seconds: float
    near: Vector

    def best(self) -> frozenset[int]:
        """Return the set that is worth most."""
        count, nodes = len(self.demands), len(self.tree.nodes)
        worth, is_whole = np.zeros(self._columns), np.zeros(self._columns, np.int8)
        worth[self._tolerant] = [self.demands[query].weight for query in self._tolerant]
        is_whole[count : 2 * count] = is_whole[-nodes:] = 1
        solved = optimize.milp(
            -worth,
            integrality=is_whole,
            bounds=self._bounds,
            constraints=self._rows.constraint(self._columns),
            options={"mip_rel_gap": ALIKE, "node_limit": MOST_NODES},
        )
        if solved.x is None:
            return self.must_run
        return self.must_run.union(query for query in self._tolerant if solved.x[count + query] > _HALF)

    @cached_property
    def _tolerant(self) -> list[int]:
        return [query for query, demand in enumerate(self.demands) if demand.sampling_rate is None]

    @cached_property
    def _shares(self) -> ShareProgram:
        """Families, and what is needed of rows, if all run."""
        return ShareProgram(
            tree=self.tree,
            families={query: self.demands[query].drops_with for query in self._tolerant},
            worth=np.array([demand.weight for demand in self.demands]),
            least=np.array([demand.least_kept for demand in self.demands]),
            most=np.array([demand.most_kept for demand in self.demands]),
        )

    @cached_property
    def _slopes(self) -> Vector:
        return self._shares.slopes(self.near)

    @cached_property
    def _bases(self) -> Vector:
        """Per node, what u is beside Σ_f slope · m_f."""
        linear = (self._slopes * self._shares.largest(self.near)).sum(axis=0)
        return np.asarray(self._shares.needed_by_any(self.near) - linear)

    @property
    def _columns(self) -> int:
        return self._place_often(len(self.tree.nodes))

    def _place_largest(self, family: int, node: int) -> int:
        return 2 * len(self.demands) + family * len(self.tree.nodes) + node

    def _place_needed(self, node: int) -> int:
        return self._place_largest(len(self._shares.names), node)

    def _place_often(self, node: int) -> int:
        return self._place_largest(len(self._shares.names) + 1, node)

    @property
    def _bounds(self) -> optimize.Bounds:
        lower, upper, count = np.zeros(self._columns), np.ones(self._columns), len(self.demands)
        lower[[count + query for query in self.must_run]] = 1
        upper[self._place_needed(0) : self._place_often(0)] = np.inf
        return optimize.Bounds(lower, upper)

    @property
    def _rows(self) -> _Rows:
        rows = _Rows()
        for query in self._tolerant:
            self._add_share(rows, query)
        for node in range(len(self.tree.nodes)):
            self._add_largest(rows, node)
            self._add_needed(rows, node)
        self._add_load(rows)
        return rows

    def _add_share(self, rows: _Rows, query: int) -> None:
        demand, runs = self.demands[query], len(self.demands) + query
        rows.add([(query, -1.0), (runs, demand.least_kept)])
        rows.add([(query, 1.0), (runs, -demand.most_kept)])
        family = self._shares.names.index(demand.drops_with)
        rows.add([(query, 1.0), (self._place_largest(family, self.tree.query_nodes[query]), -1.0)])

    def _add_largest(self, rows: _Rows, node: int) -> None:
        parent = self.tree.nodes[node].parent
        if parent is None:
            return
        for family in range(len(self._shares.names)):
            rows.add([(self._place_largest(family, node), 1.0), (self._place_largest(family, parent), -1.0)])

    def _add_needed(self, rows: _Rows, node: int) -> None:
        """c_x at least what each query that runs needs, and y_x whether one of them keeps more than few windows."""
        often = self._place_often(node)
        any_often = [(often, 1.0)]
        for query in self.tree.queries_below[node]:
            demand, runs = self.demands[query], len(self.demands) + query
            if demand.sampling_rate is not None:
                continue
            late, epochs = 1 - demand.early_share, demand.epochs_per_kept
            if demand.is_rare:
                self._add_at_least(rows, node, [(runs, late), (often, late)], demand.early_share, late)
                self._add_at_least(rows, node, [(runs, epochs), (often, -epochs)], epochs, epochs)
            else:
                self._add_at_least(rows, node, [(runs, late)], demand.early_share, 0.0)
                rows.add([(runs, 1.0), (often, -1.0)])
                any_often.append((runs, -1.0))
        rows.add(any_often)

    def _add_at_least(
        self, rows: _Rows, node: int, switches: list[tuple[int, float]], factor: float, limit: float
    ) -> None:
        """c_x ≥ the switches + factor · u_x − limit."""
        slopes = [
            (self._place_largest(f, node), factor * float(slope)) for f, slope in enumerate(self._slopes[:, node])
        ]
        rows.add([*switches, *slopes, (self._place_needed(node), -1.0)], limit - factor * float(self._bases[node]))

    def _add_load(self, rows: _Rows) -> None:
        rates = [demand.sampling_rate or 0.0 for demand in self.demands]
        sampled, seconds = self.tree.node_rates(np.array(rates)), self.tree.node_seconds
        needed = [(self._place_needed(node), float(value)) for node, value in enumerate(seconds * (1 - sampled))]
        windows = [(query, self.demands[query].window_seconds) for query in self._tolerant]
        rows.add([*needed, *windows], self.budget_seconds - float(seconds @ sampled))
