"""Runs: whole numbers that follow one another, as the first and the last of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

Runs = tuple[tuple[int, int], ...]
"""First and last of each run, ascending."""


def runs_of(numbers: Iterable[int]) -> Runs:
    """Return the runs that some numbers make.

    >>> runs_of([3, 9, 4, 5])
    ((3, 5), (9, 9))
    """
    runs: list[tuple[int, int]] = []
    for number in sorted(set(numbers)):
        if runs and runs[-1][1] == number - 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    return tuple(runs)


def numbers_in(runs: Sequence[tuple[int, int]]) -> list[int]:
    """Return the numbers of some runs, ascending.

    >>> numbers_in(((3, 5), (9, 9)))
    [3, 4, 5, 9]
    """
    return [number for first, last in runs for number in range(first, last + 1)]
