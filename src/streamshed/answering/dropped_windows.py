"""Windows that were dropped: they have no answers, whatever of their rows is there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from streamshed.answering.answer_schema import ANSWER
from streamshed.answering.window_partials import Longs, Truths, WindowPartials
from streamshed.network.window import WindowSpecification

OVERLOAD, MEMORY = "overload", "memory"
SHUT_DOWN, SHUT_DOWN_FOR_MEMORY = "shut down", "shut down for memory"
"""Why a window was dropped: to stay in time, or to keep state within its limit; or its query did not run at all."""

CARRIED = {"key_long": 2, "key_text": "\\G"}
"""The key of what a carrier brings for windows of queries by groups, nobody's: no key has both a number and a text."""


@dataclass(frozen=True)
class DroppedWindows:
    """Of one query.

    Attributes:
        window: Its windows.
        dropped: Runs of the numbers of dropped ones.
        shut: Those of them that were dropped as the query was shut down.
        for_state: Those of them that were dropped as state had to be kept within its limit.
    """

    window: WindowSpecification
    dropped: tuple[tuple[int, int], ...]
    shut: tuple[tuple[int, int], ...] = ()
    for_state: tuple[tuple[int, int], ...] = ()

    def includes(self, starts: Longs) -> Truths:
        """Tell which windows are dropped, by their starts, microseconds."""
        return _within(window_numbers(self.window, starts), self.dropped)

    def reasons(self, starts: Longs) -> npt.NDArray[np.object_]:
        """Tell why windows are dropped."""
        numbers = window_numbers(self.window, starts)
        shut, for_state = _within(numbers, self.shut), _within(numbers, self.for_state)
        found: npt.NDArray[np.object_] = np.select(
            [shut & for_state, shut, for_state],
            [np.full(len(numbers), told, object) for told in (SHUT_DOWN_FOR_MEMORY, SHUT_DOWN, MEMORY)],
            OVERLOAD,
        )
        return found


def window_numbers(window: WindowSpecification, starts: Longs) -> Longs:
    """Return the numbers k of windows by their starts θ + kδ, microseconds."""
    numbers: Longs = (starts - window.offset_microseconds) // window.slide_microseconds
    return numbers


def is_dropped(partials: WindowPartials, dropped: Mapping[int, DroppedWindows]) -> Truths:
    """Tell which window partials are of dropped windows.

    Args:
        partials: The partials.
        dropped: By `Query.definition_id`.
    """
    found = np.zeros(len(partials), np.bool_)
    for own, windows, starts in _of_each(partials, dropped):
        found[own] = windows.includes(starts)
    return found


def drop_reasons(partials: WindowPartials, dropped: Mapping[int, DroppedWindows]) -> npt.NDArray[np.object_]:
    """Tell why the windows of partials are dropped."""
    found = np.full(len(partials), OVERLOAD, object)
    for own, windows, starts in _of_each(partials, dropped):
        found[own] = windows.reasons(starts)
    return found


def is_carried(partials: WindowPartials) -> Truths:
    """Tell which came with a carrier for a query by groups, and are no group's."""
    texts = pc.fill_null(pc.equal(partials.array("key_text"), CARRIED["key_text"]), False)
    found: Truths = (partials.longs("key_long") == CARRIED["key_long"]) & texts.to_numpy(zero_copy_only=False)
    return found


def _of_each(
    partials: WindowPartials, dropped: Mapping[int, DroppedWindows]
) -> Iterator[tuple[Truths, DroppedWindows, Longs]]:
    """Of each query with dropped windows, which partials are its own, and where their windows start."""
    if not dropped:
        return
    definitions, starts = partials.longs("definition_id"), partials.longs("window_start")
    is_answer = pc.equal(partials.array("kind"), ANSWER).to_numpy(zero_copy_only=False)
    for definition, windows in dropped.items():
        own = is_answer & (definitions == definition)
        yield own, windows, starts[own]


def _within(numbers: Longs, runs: tuple[tuple[int, int], ...]) -> Truths:
    if not runs:
        return np.zeros(len(numbers), np.bool_)
    firsts, lasts = np.array(runs, np.int64).T
    place = np.searchsorted(firsts, numbers, side="right") - 1
    found: Truths = (place >= 0) & (numbers <= lasts[np.maximum(place, 0)])
    return found
