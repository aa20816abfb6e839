"""Streams of which derived answers are estimated: two values a row, of which some may be missing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from streamshed.answering.table.window_partials import Doubles
from tests.unit.answering.partials import kept

ROWS = 8000


@dataclass(frozen=True)
class Sample:
    """A derived answer over columns a and b.

    Attributes:
        text: What is asked, `a` in the first slot and `b` in the second.
        of: The truth, from all values; NaN stands for null.
        b: The values of b, given those of a.
        share: Of the rows that have an a.
        covariance_is_known: Whether the sample tells the covariance of its parts: bounds are no wider than need be.
        is_bent: Whether it is far from straight within its bounds, which are wider.
    """

    text: str
    of: Callable[[Doubles, Doubles], float]
    b: Callable[[Doubles, np.random.Generator], Doubles] = lambda a, chance: a + chance.exponential(1.0, len(a))
    share: float = 1.0
    covariance_is_known: bool = False
    is_bent: bool = False


SAMPLES = {
    "share of the rows": Sample(
        "100.0 * count(a) / count(*)",
        lambda a, _: 100.0 * float(np.isfinite(a).mean()),
        share=0.3,
        covariance_is_known=True,
    ),
    "mean over all rows": Sample(
        "sum(a) / count(*)", lambda a, _: float(np.nansum(a)) / len(a), share=0.5, covariance_is_known=True
    ),
    "mean": Sample("sum(a) / count(a)", lambda a, _: float(np.nanmean(a)), share=0.5, covariance_is_known=True),
    "ratio of what goes together": Sample("sum(a) / sum(b)", lambda a, b: float(np.nansum(a) / b.sum())),
    "ratio of what does not": Sample(
        "sum(a) / sum(b)", lambda a, b: float(np.nansum(a) / b.sum()), b=lambda _, chance: chance.random(ROWS) + 0.5
    ),
    "difference": Sample("sum(a) - 2 * sum(b)", lambda a, b: float(np.nansum(a) - 2 * b.sum())),
    "divisor near 0": Sample(
        "sum(a) / sum(b)",
        lambda a, b: float(np.nansum(a) / b.sum()),
        b=lambda _, chance: 0.18 + chance.normal(size=ROWS),
        is_bent=True,
    ),
    "one part": Sample("sum(a) / 1024 + 1", lambda a, _: float(np.nansum(a)) / 1024 + 1),
}


def columns(sample: Sample) -> tuple[Doubles, Doubles]:
    """All rows."""
    chance = np.random.default_rng(3)
    a = chance.random(ROWS) + 0.5
    b = sample.b(a, chance)
    return np.where(chance.random(ROWS) < sample.share, a, np.nan), b


def truth_of(sample: Sample) -> float:
    """What the answer would be of all rows."""
    return sample.of(*columns(sample))


def sampled_windows(sample: Sample, rate: float, count: int, chance: np.random.Generator) -> list[dict[str, Any]]:
    """Partials of so many samples of the rows, each a window, for both slots."""
    a, b = columns(sample)
    found = []
    for window in range(count):
        is_kept = chance.random(ROWS) < rate
        rows, weight = int(is_kept.sum()), 1 / rate
        excess = weight * (weight - 1)
        every = {"rows": rows, "rows_weighted": rows * weight, "rows_excess": rows * excess}
        for slot, values in enumerate((a, b)):
            own = values[is_kept]
            of_values = kept(rate, own[np.isfinite(own)])
            found.append({**of_values, **every, "slot": slot, "window_start": window, "window_end": window + 1})
    return found
