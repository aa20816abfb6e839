"""Which rows a task admits, and what each of them passes: what `sampled_rows` says of one row, for many at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from streamshed.columnar.spark_hash import as_uniform, xxhash64
from streamshed.joins.model.arrays import Booleans, Floats, Ints
from streamshed.network.terms.cohorts import COHORTS
from streamshed.planning.place.block_cut import BlockCut
from streamshed.planning.tree.quantization import STEPS_PER_DECADE
from streamshed.planning.window_drop.track.retention import MOST_SLOTS
from streamshed.sharing.gating import LEVELS
from streamshed.spark.admit.sampled_rows import SHOWN_ONE_IN
from streamshed.spark.common.internal_names import (
    BY_LEVEL,
    FIRST_LEVEL,
    NOW,
    RETAINED,
    RETAINED_BASE,
    RETAINED_RATES,
    RETAINED_STEP,
    RETAINED_WORDS,
    SAMPLING_CODES,
    SAMPLING_RATE,
)

Words = NDArray[np.int64]
"""Of rows, what each passes. Shape (rows, words)."""


@dataclass(frozen=True, eq=False)
class RowPlaces:
    """What tells where rows are.

    Attributes:
        instants: When they are, microseconds.
        are_known: Which rows are known to be there; of the others, all is done.
        cohorts: The cohorts of their groups, by set of keys; empty: no gaps are by group.
    """

    instants: Ints
    are_known: Booleans
    cohorts: tuple[Ints, ...] = ()


@dataclass(frozen=True)
class Retention:
    """What is done with rows by their places, see `RetainedRows`.

    Attributes:
        base: When the first slot starts, microseconds.
        step: How long slots are, microseconds.
        words: By place, what a row there may pass at most; behind the last one, everything.
        sampling_rates: By place, with which probability a row is kept at all; behind the last one, 1.
    """

    base: int
    step: int
    words: Words
    sampling_rates: Floats

    @classmethod
    def of(cls, plan_values: Mapping[str, Any]) -> Self:
        """Read what `RETAINED` says."""
        words = np.array(plan_values[RETAINED_WORDS], np.int64)
        return cls(
            plan_values[RETAINED_BASE],
            plan_values[RETAINED_STEP],
            np.concatenate([words, np.full((1, words.shape[1]), -1)]),
            np.array([*plan_values[RETAINED_RATES], 1.0]),
        )

    def places(self, rows: RowPlaces) -> list[Ints]:
        """Return the places of rows, one for each set of keys, see `RetainedRows`; the last one, where all is done."""
        last = len(self.words) - 1
        slots = np.minimum((rows.instants - self.base) // self.step, MOST_SLOTS)
        is_decided = rows.are_known & (slots >= 0)
        starts = slots * (len(rows.cohorts) * COHORTS or 1)
        places = [starts + number * COHORTS + cohorts for number, cohorts in enumerate(rows.cohorts)] or [starts]
        return [np.where(is_decided, np.minimum(of_set, last), last) for of_set in places]


@dataclass(frozen=True)
class RowPlan:
    """What the rows of a stream are told in a micro-batch.

    Attributes:
        now: `NOW`.
        codes: `SAMPLING_CODES`.
        sampling_rate: Probability with which rows are kept.
        first_level: The least level of one that is.
        by_level: By level, what rows pass; None: everything.
        retention: What is done with them by their places; None: nothing.
        whole_words: What a row passes while nothing is shed.
        cut: Which blocks are read; None: all.
    """

    now: int | None
    codes: str | None
    sampling_rate: float
    first_level: int
    by_level: Words | None
    retention: Retention | None
    whole_words: Words
    cut: BlockCut | None = None

    @classmethod
    def of(cls, plan_values: Mapping[str, Any], whole_words: Sequence[int], cut: BlockCut | None = None) -> Self:
        """Read what a row was told; what it was not is as it is where nothing is shed.

        Args:
            plan_values: By name.
            whole_words: What a row passes while nothing is shed.
            cut: Which blocks are read; None: all.
        """
        sampling_rate, by_level, retained = (plan_values.get(name) for name in (SAMPLING_RATE, BY_LEVEL, RETAINED))
        return cls(
            now=plan_values.get(NOW),
            codes=plan_values.get(SAMPLING_CODES),
            sampling_rate=1.0 if sampling_rate is None else sampling_rate,
            first_level=plan_values.get(FIRST_LEVEL) or 0,
            by_level=None if by_level is None else np.array(by_level[0], np.int64),
            retention=None if retained is None else Retention.of(retained),
            whole_words=np.array(whole_words, np.int64),
            cut=cut,
        )

    @property
    def read_share(self) -> float:
        """The share of rows that are in blocks that are read."""
        return 1.0 if self.cut is None else self.cut.share

    @property
    def is_drawn(self) -> bool:
        """Whether it depends on what identifies a row whether it is admitted, or what it passes."""
        is_sampled_by_time = self.retention is not None and bool(
            ((self.retention.sampling_rates > 0) & (self.retention.sampling_rates < 1)).any()
        )
        return self.sampling_rate < 1 or self.by_level is not None or is_sampled_by_time


@dataclass(frozen=True, eq=False)
class Admitted:
    """What becomes of rows.

    Attributes:
        rows: The numbers of those that are admitted, in order; None: all are.
        words: What each of these passes; None: everything.
    """

    rows: Ints | None = None
    words: Words | None = None

    @classmethod
    def joined(cls, parts: Sequence[tuple[int, Self]]) -> Self:
        """Return what becomes of the rows of a run, of which each part is decided on alike.

        Args:
            parts: Of the run, in order: the place of the first row, and what becomes of the rows, counted from it.
        """
        rows = [start + part.rows for start, part in parts if part.rows is not None]
        words = [part.words for _, part in parts if part.words is not None]
        return cls(np.concatenate(rows) if rows else None, np.concatenate(words) if words else None)

    def among(self, start: int, stop: int) -> slice:
        """Return which of the admitted rows lie between two places."""
        return slice(start, stop) if self.rows is None else slice(*np.searchsorted(self.rows, [start, stop]).tolist())

    def within(self, start: int, stop: int) -> Self:
        """Return what becomes of some neighboring rows, whose numbers are counted from the first of them."""
        among = self.among(start, stop)
        rows, words = (None if values is None else values[among] for values in (self.rows, self.words))
        return type(self)(None if rows is None else rows - start, words)


def admitted(plan: RowPlan, hashes: Ints | None, places: RowPlaces | None) -> Admitted:
    """Return which rows are admitted.

    Args:
        plan: What they are told.
        hashes: Of what identifies them, see `row_hash`; None: nothing `is_drawn`.
        places: Where they are; None: the plan has no `Retention`.
    """
    # Of blocks of which the share f is read, a row is kept at the rate P that has drawn less than P/f.
    u = None if hashes is None else as_uniform(hashes) * plan.read_share
    stays = u < plan.sampling_rate if u is not None and plan.sampling_rate < 1 else None
    of_sets: list[Ints] = []
    if plan.retention is not None and places is not None:
        of_sets = plan.retention.places(places)
        needed = _are_needed(plan.retention, of_sets, u, places.instants)
        stays = needed if stays is None else stays & needed
    rows = None if stays is None else np.flatnonzero(stays)
    if rows is not None:
        u = None if u is None else u[rows]
        of_sets = [of_set[rows] for of_set in of_sets]
    words = None if u is None or plan.by_level is None else plan.by_level[_levels(u, plan.first_level)]
    if plan.retention is not None and of_sets:
        whole = plan.whole_words if words is None else words
        words = whole & np.bitwise_or.reduce([plan.retention.words[of_set] for of_set in of_sets])
    return Admitted(rows, words)


def _are_needed(retention: Retention, of_sets: Sequence[Ints], u: Floats | None, instants: Ints) -> Booleans:
    """Which rows a kept window needs, or a sample may hold, or show how far the stream has come."""
    sampling_rates = np.maximum.reduce([retention.sampling_rates[of_set] for of_set in of_sets])
    needed = sampling_rates >= 1 if u is None else (sampling_rates >= 1) | (u < sampling_rates)
    return np.asarray(needed | (xxhash64(instants) & (SHOWN_ONE_IN - 1) == 0))


def _levels(u: Floats, first_level: int) -> Ints:
    """The levels of rows, −32·log10 u, rounded down. A logarithm may differ from Java's in its last place."""
    with np.errstate(divide="ignore"):
        codes = np.floor(np.log10(u) * -float(STEPS_PER_DECADE))
    return np.clip(codes, first_level, LEVELS - 1).astype(np.int64)
