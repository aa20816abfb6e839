"""Which windows a group misses because they were dropped, as far as answers and gaps tell."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping

import numpy as np

from streamshed.answering.window_partials import Longs
from streamshed.network.cohorts import COHORTS


def missing_windows(answered: Longs, gaps: Mapping[int, str | None]) -> Longs:
    """Return the windows that were surely dropped for a group, ascending.

    Where gaps are by group, a gap says which cohorts miss a window, and no answer says to which cohort its group
    belongs: but to none that missed a window which the group was answered. A window counts as dropped if all cohorts
    miss it that are left; of others it is not known whether the group had any rows.

    Args:
        answered: Numbers of the windows that the group was answered.
        gaps: By number of a window, the `value_text` of its gap: null where all groups miss it.

    Example:
        >>> some = '{"cohorts": [0, 1, 2, 3, 4, 5, 6, 7], "of": 16}'
        >>> others = '{"cohorts": [8, 9, 10, 11, 12, 13, 14, 15], "of": 16}'
        >>> missing_windows(np.array([0, 2]), {1: None, 2: some, 3: others, 4: some}).tolist()
        [1, 3]
    """
    cohorts = {number: _cohorts(text) for number, text in gaps.items() if text is not None}
    left = frozenset(range(COHORTS)).difference(*(cohorts.get(number, frozenset()) for number in answered.tolist()))
    told = [number for number in gaps if number not in cohorts or left <= cohorts[number]]
    found: Longs = np.setdiff1d(np.array(told, np.int64), answered)
    return found


@functools.lru_cache(maxsize=4096)
def _cohorts(text: str) -> frozenset[int]:
    return frozenset(json.loads(text)["cohorts"])
