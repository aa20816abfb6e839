"""Which partial aggregates the state holds: fixed when a checkpoint is made, whatever queries come and go later."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from streamshed.network.words.state_families import STATE_FAMILIES


@dataclass(frozen=True, kw_only=True)
class StateLayout:
    """The families of partial aggregates beyond those that every checkpoint has.

    Counts, sums, moments and extremes of numbers and times are always there, so that most queries can be added
    later. What costs every query something is there only if the first network needed it or reserved it.

    Attributes:
        decimals: Sums and extremes of decimals.
        texts: Extremes of texts and binaries.
        dispersions: Lists of the slices' moments, from which variances are merged without loss of digits.
        quantiles: Sketches of values.
        distincts: Sketches of distinct values.
        collected: Lists of values, for aggregates of the user's own.
        distinct_values: Beside them sets of values, of which nothing but their number is asked.
        rows: A second reading of every stream, for set-valued queries: Spark ties a checkpoint to its sources.
        count_windows: One more, and a stage of its own, for windows of so many rows.
        cohorts: Lists of what random groups of rows bring to the slices, where a join is sampled.
        block_sums: What random groups of blocks bring to the slices, where blocks are left unread.
        answer_rows: A second copy of joins of answers of windows, stages and all, for set-valued queries over them.
    """

    decimals: bool = False
    texts: bool = False
    dispersions: bool = False
    quantiles: bool = False
    distincts: bool = False
    collected: bool = False
    distinct_values: bool = False
    rows: bool = False
    count_windows: bool = False
    cohorts: bool = False
    block_sums: bool = False
    answer_rows: bool = False

    def missing(self, needed: StateLayout) -> tuple[str, ...]:
        """Name the families that a network needs and this layout lacks."""
        return tuple(name for name in STATE_FAMILIES if getattr(needed, name) and not getattr(self, name))

    def extended(self, *families: str) -> Self:
        """Return the layout with more families."""
        return type(self)(**{name: getattr(self, name) or name in families for name in STATE_FAMILIES})

    @property
    def families(self) -> tuple[str, ...]:
        """The names of those that are reserved."""
        return tuple(name for name, wanted in self.to_json().items() if wanted)

    def to_json(self) -> dict[str, bool]:
        """Return the layout as a JSON object."""
        return {name: getattr(self, name) for name in STATE_FAMILIES}

    @classmethod
    def from_json(cls, document: dict[str, bool]) -> Self:
        """Read what `to_json` wrote."""
        return cls(**{name: bool(document.get(name)) for name in STATE_FAMILIES})
