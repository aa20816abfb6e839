"""Shares of windows where queries drop by window and by group, or by different groups, within one network.

Whether a row is needed is then 1 − e·Π_f (1 − m_f), of families f whose coins say nothing of one another: no linear
function of the shares, nor a convex one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from streamshed.planning.tree.work_tree import Vector
from streamshed.planning.window_drop.choose.share_program import ShareProgram

MOST_ROUNDS, ENOUGH = 6, 1e-3
"""Of several families the load is made linear where the shares are, so often or until they are worth hardly more."""

HALVINGS = 12
"""So often the way to shares that do not fit is halved."""


@dataclass(frozen=True)
class MixedFamilies:
    """Shares of queries of several families: what is needed of rows is no linear function of them.

    Attributes:
        program: What shares are worth.
        saving: Per node, the seconds that follow the share that any query keeps.
        windows: V, per query that runs.
        constant: The seconds that follow nothing.
        budget_seconds: What all of it may take.
    """

    program: ShareProgram
    saving: Vector
    windows: Sequence[float]
    constant: float
    budget_seconds: float

    def best(self) -> Vector:
        """Return shares that are worth most among those near, from the best of some starts.

        A sequence of linear programs, each of the load as it is near the shares that were found before.
        """
        least = self.program.least
        starts = [least, *(self._with_most_of(family) for family in range(len(self.program.names)))]
        shares = max((self._better(least, near=start) for start in starts), key=self._worth)
        for _ in range(MOST_ROUNDS):
            candidate = self._better(shares, near=shares)
            gain = self._worth(candidate) - self._worth(shares)
            if gain <= 0:
                break
            shares = candidate
            if gain <= ENOUGH * self._worth(shares):
                break
        return shares

    def _better(self, shares: Vector, *, near: Vector) -> Vector:
        """Shares that fit, on the way from some that do to the best by the load as it is near others."""
        slopes = self.program.slopes(near)
        linear = (slopes * self.program.largest(near)).sum(axis=0)
        beside = float(self.saving @ (self.program.needed_by_any(near) - linear))
        candidate = self.program.best(self.windows, slopes * self.saving, self.budget_seconds - self.constant - beside)
        return shares if candidate is None else _as_far_as_fits(self._fits, shares, candidate)

    def _with_most_of(self, family: int) -> Vector:
        members = {query for query, name in self.program.families.items() if name == self.program.names[family]}
        shares = [most if n in members else least for n, (least, most) in enumerate(self._limits)]
        return np.array(shares)

    @property
    def _limits(self) -> list[tuple[float, float]]:
        return list(zip(self.program.least.tolist(), self.program.most.tolist(), strict=True))

    def _fits(self, shares: Vector) -> bool:
        needed = float(self.saving @ self.program.needed_by_any(shares))
        return self.constant + needed + float(np.dot(self.windows, shares)) <= self.budget_seconds

    def _worth(self, shares: Vector) -> float:
        return float(self.program.worth @ shares)


def _as_far_as_fits(fits: Callable[[Vector], bool], start: Vector, end: Vector) -> Vector:
    """Go from shares that fit towards others as far as all on the way do, at least where it is halved and halved."""
    if fits(end):
        return end
    near, far = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = (near + far) / 2
        near, far = (middle, far) if fits(start + middle * (end - start)) else (near, middle)
    return np.asarray(start + near * (end - start))
