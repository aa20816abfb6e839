"""Gaps by group: which groups a window was dropped for, as the answers tell."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime
from itertools import groupby

from tests.spark.trunks.outcome import Outcome

COHORTS = frozenset(range(16))
"""All there are."""


def missed_by_window(outcome: Outcome, query: str) -> dict[datetime, frozenset[int]]:
    """By the start of each window that was dropped, the cohorts it was dropped for; fails where a gap comes twice."""
    gaps = outcome.gaps(query)
    return {start: COHORTS if row.value_text is None else _cohorts(row.value_text) for start, row in gaps.items()}


def longest_run(numbers: Iterable[int]) -> int:
    """How many numbers follow each other at most."""
    runs = groupby(enumerate(sorted(numbers)), key=lambda pair: pair[1] - pair[0])
    return max((len(list(run)) for _, run in runs), default=0)


def _cohorts(text: str) -> frozenset[int]:
    return frozenset(json.loads(text)["cohorts"])
