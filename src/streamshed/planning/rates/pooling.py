"""Which queries share a sampling rate: Σ b_q/P_q is least where neighbors in the tree are pooled."""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from streamshed.planning.tree.work_tree import Vector, WorkTree


@dataclass(slots=True)
class _Block:
    """Neighboring nodes at one rate."""

    strength: float
    seconds: float
    nodes: list[int]
    below: list[tuple[float, int, _Block]] = field(default_factory=list)

    @property
    def slope(self) -> float:
        """sqrt(b/a): the rate is this by a factor that is everybody's."""
        if self.strength == 0:
            return 0.0
        return math.sqrt(self.strength / self.seconds) if self.seconds > 0 else math.inf


def pooled_slopes(tree: WorkTree, seconds: Vector, strengths: Sequence[float], sunk: Sequence[bool]) -> Vector:
    """Return for each node the slope r_x such that the rates P_x = min(1, s·r_x) are the best of their load.

    That is, for every s there is a budget for which they

        minimize Σ_q b_q / P_q   subject to   Σ_x seconds_x · P_x ≤ budget,  P_parent ≥ P_child,  0 < P ≤ 1.

    For a multiplier λ a node alone would like P = sqrt(b/(λ·a)). Where a child would like more than its parent, the two
    are pooled: one rate, with the sums of their b and a. That is isotonic regression on a tree: from the leaves up,
    a block takes in the block below it that likes most while that likes more than itself. λ scales all rates alike, so
    who is pooled with whom depends neither on λ nor on the budget nor on how many rows a stream has; and clamping the
    solution at 1 solves the clamped problem.

    Args:
        tree: The nodes.
        seconds: a of each node, at least 0.
        strengths: b of each query, at least 0.
        sunk: Nodes that are at rate 1 in any case: what is below stands for itself.

    Returns:
        r of each node, 0 where nothing is wanted, infinity where it is free.

    Example:
        The second query is the one that wants the parser's rows; the first asks for less, and gets less.

        >>> from streamshed.planning.tree.work_tree import WorkNode
        >>> tree = WorkTree((
        ...     WorkNode(name="parse", parent=None, seconds=1.0),
        ...     WorkNode(name="a", parent=0, seconds=1.0, query=0),
        ...     WorkNode(name="b", parent=0, seconds=1.0, query=1),
        ... ))
        >>> pooled_slopes(tree, tree.node_seconds, [1.0, 8.0], [False] * 3).tolist()
        [2.0, 1.0, 2.0]
    """
    blocks: list[_Block | None] = [None] * len(tree.nodes)
    slopes = np.zeros(len(tree.nodes))
    finished: list[_Block] = []
    for index in range(len(tree.nodes) - 1, -1, -1):
        node = tree.nodes[index]
        block_here = _Block(0.0 if node.query is None else strengths[node.query], float(seconds[index]), [index])
        children = [(child, blocks[child]) for child in tree.children[index]]
        if sunk[index]:
            finished += [block for _, block in children if block is not None]
            slopes[index] = math.inf
            continue
        block_here.below = [(-block.slope, child, block) for child, block in children if block is not None]
        heapq.heapify(block_here.below)
        while block_here.below and -block_here.below[0][0] > block_here.slope:
            _, _, block = heapq.heappop(block_here.below)
            block_here.strength += block.strength
            block_here.seconds += block.seconds
            block_here.nodes += block.nodes
            for entry in block.below:
                heapq.heappush(block_here.below, entry)
        blocks[index] = block_here
        if node.parent is None:
            finished.append(block_here)
    while finished:
        block = finished.pop()
        slopes[block.nodes] = block.slope
        finished += [below for _, _, below in block.below]
    return slopes
