"""Windows that were dropped: they have no answers, whatever of their rows is there."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from streamshed.answering.table.answer_schema import ANSWER
from streamshed.answering.table.window_partials import Longs, Truths, WindowPartials
from streamshed.network.terms.cohorts import COHORTS
from streamshed.network.terms.window import WindowSpecification

OVERLOAD, MEMORY = "overload", "memory"
SHUT_DOWN, SHUT_DOWN_FOR_MEMORY = "shut down", "shut down for memory"
NOT_NEEDED, NOT_SEEN, TOO_OLD = "not needed", "before the query", "too old"
"""Why a window was dropped: to stay in time, or to keep state within its limit; or its query did not run at all; or
nobody needs it who is fed; or it began before its query was added; or its rows were skipped, older than `max_age`."""

COHORT = "cohort"
"""The column of window partials that tells the cohort of a group, where any query drops windows by group."""

CARRIED = {"key_long": 2, "key_text": "\\G"}
"""The key of what a carrier brings for windows of queries by groups, nobody's: no key has both a number and a text."""


@dataclass(frozen=True)
class DroppedWindows:
    """Of one query, or of a cohort of its groups.

    Attributes:
        window: Its windows.
        dropped: Runs of the numbers of dropped ones.
        shut: Those of them that were dropped as the query was shut down.
        for_state: Those of them that were dropped as state had to be kept within its limit.
        cohort: Which groups they are dropped for; None: all.
        elsewhere: Those of them that were dropped as nobody needs them who is fed.
        unseen: Those of them that began before the query came, whose rows it has not seen.
        stale: Those of them that need rows which were skipped as too old.
    """

    window: WindowSpecification
    dropped: tuple[tuple[int, int], ...]
    shut: tuple[tuple[int, int], ...] = ()
    for_state: tuple[tuple[int, int], ...] = ()
    cohort: int | None = None
    elsewhere: tuple[tuple[int, int], ...] = ()
    unseen: tuple[tuple[int, int], ...] = ()
    stale: tuple[tuple[int, int], ...] = ()

    def includes(self, starts: Longs) -> Truths:
        """Tell which windows are dropped, by their starts, microseconds."""
        return _within(window_numbers(self.window, starts), self.dropped)

    def reasons(self, starts: Longs) -> npt.NDArray[np.object_]:
        """Tell why windows are dropped."""
        numbers = window_numbers(self.window, starts)
        shut, for_state = _within(numbers, self.shut), _within(numbers, self.for_state)
        reasons: npt.NDArray[np.object_] = np.select(
            [
                *(_within(numbers, runs) for runs in (self.unseen, self.stale)),
                *(shut & for_state, shut, for_state, _within(numbers, self.elsewhere)),
            ],
            [np.full(len(numbers), told, object) for told in _REASONS],
            OVERLOAD,
        )
        return reasons


_REASONS = (NOT_SEEN, TOO_OLD, SHUT_DOWN_FOR_MEMORY, SHUT_DOWN, MEMORY, NOT_NEEDED)


def window_numbers(window: WindowSpecification, starts: Longs) -> Longs:
    """Return the numbers k of windows by their starts θ + kδ, microseconds."""
    numbers: Longs = (starts - window.offset_microseconds) // window.slide_microseconds
    return numbers


Dropped = Mapping[int, Sequence[DroppedWindows]]
"""By `Query.definition_id`: of all its groups, and of its cohorts."""


def together(dropped: Dropped, more: Dropped) -> Dropped:
    """Put dropped windows together; of those that are in both, the second say why."""
    return {one: [*dropped.get(one, ()), *more.get(one, ())] for one in {**dropped, **more}} if more else dropped


def is_dropped(partials: WindowPartials, dropped: Dropped) -> Truths:
    """Tell which window partials are of dropped windows; those of a carrier are if any cohort's window is dropped.

    Args:
        partials: The partials.
        dropped: Which windows are dropped.
    """
    is_missing = np.zeros(len(partials), np.bool_)
    for rows, _, _ in _of_each(partials, dropped):
        is_missing[rows] = True
    return is_missing


def drop_reasons(partials: WindowPartials, dropped: Dropped) -> npt.NDArray[np.object_]:
    """Tell why the windows of partials are dropped."""
    reasons = np.full(len(partials), OVERLOAD, object)
    for rows, windows, starts in _of_each(partials, dropped):
        reasons[rows] = windows.reasons(starts)
    return reasons


def missing_groups(partials: WindowPartials, dropped: Dropped) -> pa.Array:
    """Tell which groups miss the windows of partials: null where all do, else their cohorts, as JSON."""
    cohorts: dict[int, list[int]] = {}
    whole: set[int] = set()
    for rows, windows, _ in _of_each(partials, dropped):
        for row in rows.tolist():
            if windows.cohort is None or not _tells_cohorts(partials):
                whole.add(row)
            else:
                cohorts.setdefault(row, []).append(windows.cohort)
    return pa.array(
        [
            None if row in whole or row not in cohorts else json.dumps({"cohorts": cohorts[row], "of": COHORTS})
            for row in range(len(partials))
        ],
        pa.string(),
    )


def is_carried(partials: WindowPartials) -> Truths:
    """Tell which partials came with a carrier for a query by groups, and belong to no group."""
    texts = pc.fill_null(pc.equal(partials.array("key_text"), CARRIED["key_text"]), False)
    is_from_carrier: Truths = (partials.longs("key_long") == CARRIED["key_long"]) & texts.to_numpy(zero_copy_only=False)
    return is_from_carrier


def _of_each(partials: WindowPartials, dropped: Dropped) -> Iterator[tuple[Longs, DroppedWindows, Longs]]:
    """Per query or cohort with dropped windows: its partials of dropped windows, the windows, and where they start."""
    if not dropped:
        return
    definitions, starts = partials.longs("definition_id"), partials.longs("window_start")
    is_answer = pc.equal(partials.array("kind"), ANSWER).to_numpy(zero_copy_only=False)
    for definition, several in dropped.items():
        definition_rows = np.flatnonzero(is_answer & (definitions == definition))
        for windows in several:
            rows = definition_rows[_is_of_cohort(partials, definition_rows, windows.cohort)]
            rows = rows[windows.includes(starts[rows])]
            yield rows, windows, starts[rows]


def _is_of_cohort(partials: WindowPartials, rows: Longs, cohort: int | None) -> Truths:
    """Which partials are of a cohort's groups or came with a carrier; all where partials have no cohorts."""
    if cohort is None or not _tells_cohorts(partials):
        return np.ones(len(rows), np.bool_)
    is_of_cohort: Truths = (partials.longs(COHORT)[rows] == cohort) | is_carried(partials)[rows]
    return is_of_cohort


def _tells_cohorts(partials: WindowPartials) -> bool:
    """Whether there are cohorts; there are none where the last query that may drop windows has left the network."""
    return COHORT in partials.columns.schema.names


def _within(numbers: Longs, runs: tuple[tuple[int, int], ...]) -> Truths:
    if not runs:
        return np.zeros(len(numbers), np.bool_)
    firsts, lasts = np.array(runs, np.int64).T
    place = np.searchsorted(firsts, numbers, side="right") - 1
    is_within: Truths = (place >= 0) & (numbers <= lasts[np.maximum(place, 0)])
    return is_within
