"""Windows that are dropped around the kill, whatever else is asked of the stream beside; later, coins say which."""

from __future__ import annotations

from collections.abc import Mapping

from tests.spark.trunks.restart.course import KILLED_IN, STEP_SECONDS
from tests.spark.trunks.scenario import Shed

CHOSEN_STEPS = range(KILLED_IN - 1, KILLED_IN + 2)
"""In these steps two of three windows are dropped, and the last one of each step is kept."""


def some_dropped(step: int, slides: Mapping[str, int], kept_shares: Mapping[int, float]) -> Shed:
    """What is dropped in a step.

    Args:
        step: The step.
        slides: How far windows of queries are apart, seconds.
        kept_shares: Share of windows that are kept in other steps; in those left out, all are.
    """
    if step not in CHOSEN_STEPS:
        return Shed(kept_shares=dict.fromkeys(slides, kept_shares.get(step, 1.0)))
    begins = step * STEP_SECONDS
    return Shed(
        dropped={
            query: [begins + slide * number for number in range(STEP_SECONDS // slide - 1) if number % 3 < 2]
            for query, slide in slides.items()
        }
    )
