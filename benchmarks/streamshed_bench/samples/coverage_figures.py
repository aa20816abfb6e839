"""The figures of the benchmark `coverage`: trusted, flagged and unbounded answers, each counted apart, cell by cell."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

_Case = TypeVar("_Case")
CONFIDENCES = (0.95, 0.99)
ENOUGH_ANSWERS = 400
"""Cells with fewer trusted answers tell too little of how often bounds hold."""
TOLERANCE = 0.02
"""By how much the share that holds may differ from the confidence, in a cell with enough answers."""
_DEVIATIONS = 3.0
"""So many standard deviations more may be chance."""


class Standing(StrEnum):
    """What an answer says of its own bounds."""

    TRUSTED = "trusted"
    LOW = "low"
    UNBOUNDED = "unbounded"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A sampled answer beside the true one.

    Args:
        recording: Of which stream.
        aggregate: Which aggregate.
        sampling_rate: At which rate its rows were kept.
        confidence: Of its bounds.
        is_low: Whether it is flagged.
        is_bounded: Whether it has bounds.
        holds: Whether the truth is within its bounds.
        half_width: Half the width of its bounds, by the truth; NaN where there are none, or the truth is 0.
        overlap: In how many windows each of its rows is: so many answers tell of bounds as much as one.
    """

    recording: str
    aggregate: str
    sampling_rate: float
    confidence: float
    is_low: bool
    is_bounded: bool
    holds: bool
    half_width: float
    overlap: float = 1.0

    @property
    def standing(self) -> Standing:
        """Whether it is trusted, flagged or without bounds: exactly one of them."""
        if not self.is_bounded:
            return Standing.UNBOUNDED
        return Standing.LOW if self.is_low else Standing.TRUSTED

    @property
    def cell(self) -> Cell:
        """What it is judged together with."""
        return Cell(self.recording, self.aggregate, self.sampling_rate)


@dataclass(frozen=True, slots=True)
class Cell:
    """Answers of one kind.

    Args:
        recording: Of which stream.
        aggregate: Which aggregate.
        sampling_rate: At which rate its rows were kept.
    """

    recording: str
    aggregate: str
    sampling_rate: float


def figures_of(judged: Sequence[Judged]) -> dict[str, float]:
    """Condense what was measured into the benchmark's figures."""
    sampled = [answer for answer in judged if answer.confidence == CONFIDENCES[0]]
    trusted, low, unbounded = (_of(sampled, standing) for standing in Standing)
    of_cells = _trusted_by(sampled, lambda answer: answer.cell)
    cells = {cell: answers for cell, answers in of_cells.items() if len(answers) >= ENOUGH_ANSWERS}
    shares = [_coverage(answers) for answers in cells.values()]
    return {
        **{
            f"coverage_at_{round(100 * confidence)}": _coverage(
                [one for one in _of(judged, Standing.TRUSTED) if one.confidence == confidence]
            )
            for confidence in CONFIDENCES
        },
        "answers": float(len(trusted) + len(low)),
        "unbounded_share": len(unbounded) / len(sampled),
        "low_share": len(low) / (len(trusted) + len(low)),
        "low_coverage_at_95": _coverage(low),
        "median_half_width": statistics.median(answer.half_width for answer in trusted),
        "cells": float(len(cells)),
        "cells_below": float(sum(_difference(of_cell) < -TOLERANCE for of_cell in cells.values())),
        "cells_above": float(sum(_difference(of_cell) > TOLERANCE for of_cell in cells.values())),
        "least_cell_coverage_at_95": min(shares, default=math.nan),
        "largest_cell_coverage_at_95": max(shares, default=math.nan),
    }


def shares_of(judged: Sequence[Judged]) -> dict[tuple[str, float], float]:
    """Return the coverage of trusted answers at the first confidence, by recording and sampling rate."""
    sampled = [answer for answer in judged if answer.confidence == CONFIDENCES[0]]
    answers = _trusted_by(sampled, lambda answer: (answer.recording, answer.sampling_rate))
    return {case: _coverage(of_case) for case, of_case in answers.items()}


def by_cell(judged: Sequence[Judged]) -> list[dict[str, object]]:
    """Return, per cell and confidence, the number of answers of each standing, and of those whose bounds hold."""
    cells: dict[tuple[Cell, float], list[Judged]] = {}
    for answer in judged:
        cells.setdefault((answer.cell, answer.confidence), []).append(answer)
    return [
        {
            "recording": cell.recording,
            "aggregate": cell.aggregate,
            "sampling_rate": cell.sampling_rate,
            "confidence": confidence,
            **{str(standing): len(_of(answers, standing)) for standing in Standing},
            "trusted_hold": sum(answer.holds for answer in _of(answers, Standing.TRUSTED)),
            "low_hold": sum(answer.holds for answer in _of(answers, Standing.LOW)),
        }
        for (cell, confidence), answers in cells.items()
    ]


def _of(judged: Sequence[Judged], standing: Standing) -> list[Judged]:
    return [answer for answer in judged if answer.standing is standing]


def _coverage(judged: Sequence[Judged]) -> float:
    return statistics.fmean(answer.holds for answer in judged) if judged else math.nan


def _trusted_by(judged: Sequence[Judged], case_of: Callable[[Judged], _Case]) -> Mapping[_Case, list[Judged]]:
    trusted: dict[_Case, list[Judged]] = {}
    for answer in _of(judged, Standing.TRUSTED):
        trusted.setdefault(case_of(answer), []).append(answer)
    return trusted


def _difference(answers: Sequence[Judged]) -> float:
    """How far the share that holds is above the confidence (below it: negative), beyond what chance explains."""
    difference = _coverage(answers) - CONFIDENCES[0]
    independent = sum(1.0 / answer.overlap for answer in answers)
    chance = _DEVIATIONS * math.sqrt(CONFIDENCES[0] * (1 - CONFIDENCES[0]) / independent)
    return math.copysign(max(0.0, abs(difference) - chance), difference)
