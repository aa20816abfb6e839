"""Slices: the pieces of a stream between neighboring window edges, shared by all windows over them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from streamshed.network.terms.window import Edge, WindowSpecification


@dataclass(frozen=True)
class SliceGrid:
    """The instants at which the slices of a sharing class meet: a union of periodic edges, none of them redundant.

    A window with ω = mδ + φ has two slices per slide (δ − φ and φ), one when φ = 0: "paned" windows (gcd of size
    and slide) would cut more often.

    >>> SliceGrid.of([WindowSpecification(60, 10), WindowSpecification(30, 30)]).edges
    (Edge(period_microseconds=10, phase_microseconds=0),)
    >>> SliceGrid.of([WindowSpecification(7, 5)]).slice_of(8)
    (7, 10)
    """

    edges: tuple[Edge, ...]

    @classmethod
    def of(cls, windows: Iterable[WindowSpecification]) -> SliceGrid:
        """Return the coarsest grid on which every window is a whole number of slices."""
        edges = {edge for window in windows for edge in window.edges}
        needed = [edge for edge in edges if not any(_covers(other, edge) for other in edges if other != edge)]
        return cls(tuple(sorted(needed, key=lambda edge: (edge.period_microseconds, edge.phase_microseconds))))

    def merged(self, other: SliceGrid) -> SliceGrid:
        """Return the grid that has the edges of both."""
        edges = {*self.edges, *other.edges}
        needed = [edge for edge in edges if not any(_covers(wide, edge) for wide in edges if wide != edge)]
        return SliceGrid(tuple(sorted(needed, key=lambda edge: (edge.period_microseconds, edge.phase_microseconds))))

    @cached_property
    def slices_per_second(self) -> Fraction:
        """How many slices begin in a second, an upper bound where edges of different periods coincide."""
        return sum((Fraction(1_000_000, edge.period_microseconds) for edge in self.edges), Fraction(0))

    @property
    def longest_slice_microseconds(self) -> int:
        """An upper bound on the length of a slice."""
        return min(edge.period_microseconds for edge in self.edges)

    def slice_of(self, time_microseconds: int) -> tuple[int, int]:
        """Return start and end of the slice that contains an instant (reference for the compiled expressions)."""
        since = [(time_microseconds - edge.phase_microseconds) % edge.period_microseconds for edge in self.edges]
        until = [edge.period_microseconds - passed for edge, passed in zip(self.edges, since, strict=True)]
        return time_microseconds - min(since), time_microseconds + min(until)


def _covers(fine: Edge, coarse: Edge) -> bool:
    """Tell whether every instant of one set is in the other."""
    return (
        coarse.period_microseconds % fine.period_microseconds == 0
        and (coarse.phase_microseconds - fine.phase_microseconds) % fine.period_microseconds == 0
    )
