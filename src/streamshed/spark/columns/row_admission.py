"""Which rows a task admits, and what each of them passes: what `sampled_rows` says of one row, for many at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from streamshed.columnar.spark_hash import xxhash64
from streamshed.joins.model.arrays import Booleans, Floats, Ints
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
from streamshed.spark.source.row_draws import UNIT

Words = NDArray[np.int64]
"""Of rows, what each passes. Shape (rows, words)."""


@dataclass(frozen=True)
class Retention:
    """What is done with rows by their times, see `RetainedRows`.

    Attributes:
        base: When the first slot starts, microseconds.
        step: How long slots are, microseconds.
        words: By slot, what a row there may pass at most; behind the last one, everything.
        sampling_rates: By slot, with which probability a row is kept at all; behind the last one, 1.
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

    def slots(self, instants: Ints) -> Ints:
        """Return the slots of instants, microseconds; that behind the last one too."""
        return np.minimum(np.minimum((instants - self.base) // self.step, MOST_SLOTS), len(self.words) - 1)


@dataclass(frozen=True)
class RowPlan:
    """What the rows of a stream are told in a micro-batch.

    Attributes:
        now: `NOW`.
        codes: `SAMPLING_CODES`.
        sampling_rate: Probability with which rows are kept.
        first_level: The least level of one that is.
        by_level: By level, what rows pass; None: everything.
        retention: What is done with them by their times; None: nothing.
        whole_words: What a row passes while nothing is shed.
    """

    now: int | None
    codes: str | None
    sampling_rate: float
    first_level: int
    by_level: Words | None
    retention: Retention | None
    whole_words: Words

    @classmethod
    def of(cls, plan_values: Mapping[str, Any], whole_words: Sequence[int]) -> Self:
        """Read what a row was told; what it was not is as it is where nothing is shed."""
        sampling_rate, by_level, retained = (plan_values.get(name) for name in (SAMPLING_RATE, BY_LEVEL, RETAINED))
        return cls(
            now=plan_values.get(NOW),
            codes=plan_values.get(SAMPLING_CODES),
            sampling_rate=1.0 if sampling_rate is None else sampling_rate,
            first_level=plan_values.get(FIRST_LEVEL) or 0,
            by_level=None if by_level is None else np.array(by_level[0], np.int64),
            retention=None if retained is None else Retention.of(retained),
            whole_words=np.array(whole_words, np.int64),
        )

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
        rows: True for those that are admitted; None: all are.
        words: What each row passes, of those that are not admitted anything; None: everything.
    """

    rows: Booleans | None = None
    words: Words | None = None


def admitted(plan: RowPlan, hashes: Ints | None, instants: tuple[Ints, Booleans] | None) -> Admitted:
    """Return which rows are admitted.

    Args:
        plan: What they are told.
        hashes: Of what identifies them, see `row_hash`; None: nothing `is_drawn`.
        instants: When they are, microseconds, and which are at any time; None: the plan has no `Retention`.
    """
    rows, words = None, None
    u = None if hashes is None else (hashes.view(np.uint64) >> np.uint64(11)).astype(np.float64) * UNIT
    if u is not None and plan.sampling_rate < 1:
        rows = u < plan.sampling_rate
    if u is not None and plan.by_level is not None:
        words = plan.by_level[_levels(u, plan.first_level)]
    if plan.retention is None or instants is None:
        return Admitted(rows, words)
    return _retained(plan, plan.retention, Admitted(rows, words), u, instants)


def _levels(u: Floats, first_level: int) -> Ints:
    """The levels of rows, −32·log10 u, rounded down. A logarithm may differ from Java's in its last place."""
    with np.errstate(divide="ignore"):
        codes = np.floor(np.log10(u) * -float(STEPS_PER_DECADE))
    return np.clip(codes, first_level, LEVELS - 1).astype(np.int64)


def _retained(
    plan: RowPlan, retention: Retention, sample: Admitted, u: Floats | None, instants: tuple[Ints, Booleans]
) -> Admitted:
    """Let rows leave that no kept window needs and no sample holds; see `sampled_rows`."""
    times, has_time = instants
    is_decided = has_time & (times >= retention.base)
    slots = retention.slots(np.where(is_decided, times, retention.base))
    sampling_rates = retention.sampling_rates[slots]
    stays = (sampling_rates >= 1) | (xxhash64(times) & (SHOWN_ONE_IN - 1) == 0) | ~is_decided
    if u is not None:
        stays |= u < sampling_rates
    words = plan.whole_words if sample.words is None else sample.words
    words = np.where(is_decided[:, None], words & retention.words[slots], words)
    return Admitted(stays if sample.rows is None else stays & sample.rows, words)
