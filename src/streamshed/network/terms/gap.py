"""Gaps: how many answers in a row a query can miss, and whether those of all groups or of some."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from streamshed.errors import InvalidNetworkError, Problem, closest_name
from streamshed.network.terms.window import WindowSpecification
from streamshed.network.words.duration import format_duration, parse_duration
from streamshed.network.words.given import is_whole_number


class GapsBy(StrEnum):
    """By what windows are dropped."""

    WINDOW = "window"
    """A window is dropped for all of its groups."""

    GROUP = "group"
    """A window is dropped for some of its groups, others in each: every group has gaps of its own, none too long."""


@dataclass(frozen=True, slots=True)
class GapTolerance:
    """The most answers in a row that a query can miss, or the longest time for which it can miss all of them.

    Attributes:
        windows: B, windows; None: it is a time.
        microseconds: The time; None: it is a number of windows.
    """

    windows: int | None = None
    microseconds: int | None = None

    def windows_of(self, window: WindowSpecification) -> int:
        """Return B: of a time, as many slides as fit into it.

        >>> GapTolerance(microseconds=25).windows_of(WindowSpecification(20, 10))
        2
        """
        if self.windows is not None:
            return self.windows
        return (self.microseconds or 0) // window.slide_microseconds

    def written(self) -> str | int:
        """Return it as a user would give it."""
        return format_duration(self.microseconds or 0) if self.windows is None else self.windows

    def __str__(self) -> str:
        if self.windows is None:
            return str(self.written())
        return f"{self.windows} window{'' if self.windows == 1 else 's'}"


DEFAULT_GAP = GapTolerance(windows=1)
"""No two answers in a row are missed unless a query says that they may be."""


MOST_WINDOWS = 10**9


def gap_tolerance(given: object) -> GapTolerance:
    """Read a tolerance.

    Args:
        given: A number of windows, such as 5, or a time, such as "10 minutes".

    Raises:
        InvalidNetworkError: It is neither.

    Example:
        >>> str(gap_tolerance(5)), str(gap_tolerance("90 s"))
        ('5 windows', '1 minute 30 seconds')
        >>> gap_tolerance(-1)
        Traceback (most recent call last):
        streamshed.errors.InvalidNetworkError: max_gap is 0 to 1000000000 windows, or a time ..., got -1
    """
    if isinstance(given, GapTolerance):
        return given
    if isinstance(given, int) and is_whole_number(given, at_least=0) and given <= MOST_WINDOWS:
        return GapTolerance(windows=given)
    if isinstance(given, str):
        return GapTolerance(microseconds=parse_duration(given))
    raise InvalidNetworkError(
        Problem('max_gap is 0 to 1000000000 windows, or a time such as "10 minutes"', got=repr(given))
    )


def gaps_by(given: object) -> GapsBy:
    """Read whether windows are dropped for all groups at once or by group.

    Raises:
        InvalidNetworkError: It is neither "window" nor "group".

    Example:
        >>> gaps_by("group")
        <GapsBy.GROUP: 'group'>
    """
    try:
        return GapsBy(given)  # type: ignore[arg-type]
    except ValueError as error:
        near_miss = closest_name(str(given), GapsBy)
        problem = Problem(f"gaps_by is {' or '.join(GapsBy)}", got=repr(given), near_miss=near_miss)
        raise InvalidNetworkError(problem) from error
