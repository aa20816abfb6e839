"""Cohorts: groups whose windows are dropped together, chosen by a hash of the group's key.

Where gaps are by group, each cohort has a coin of its own, one sixteenth of a turn behind the coin before it: of the
sixteen as many drop in every epoch as p asks for, so that each micro-batch has as much work as the next, and a group
that was never seen before is decided on like any other. [T06] §3.1 drops the windows of all groups alike.
"""

from __future__ import annotations

import functools
import random

COHORTS = 16
"""How many there are, a power of two: shares of groups that are dropped differ by a sixteenth."""

_BETWEEN = "."

Part = tuple[int, int | None]
"""What is decided on together: a query, by `Query.definition_id`, and one of its cohorts; None: all of its groups."""


_ROWS = 64


@functools.cache
def cohorts_of_rows(groupings: int) -> tuple[tuple[int, ...], ...]:
    """Return which cohorts rows are in, of several ways to group them: some rows that stand for all.

    Each way's cohorts are there equally often, and say nothing of those of the others, as hashes of different keys do.

    >>> cohorts_of_rows(0), len(cohorts_of_rows(1)), len(cohorts_of_rows(3))
    (((),), 16, 64)
    """
    if groupings <= 1:
        return tuple((cohort,) * groupings for cohort in range(COHORTS if groupings else 1))
    chance = random.Random(0)
    columns = [chance.sample([*range(COHORTS)] * (_ROWS // COHORTS), _ROWS) for _ in range(groupings)]
    return tuple(zip(*columns, strict=True))


def part_name(definition_id: int, cohort: int | None) -> str:
    """Name what is decided on together: all of a query's groups, or a cohort of them.

    >>> part_name(7, None), part_name(7, 3)
    ('7', '7.3')
    """
    return str(definition_id) if cohort is None else f"{definition_id}{_BETWEEN}{cohort}"


def part_of(name: str) -> Part:
    """Read such a name.

    >>> part_of("7"), part_of("7.3")
    ((7, None), (7, 3))
    """
    definition, _, cohort = name.partition(_BETWEEN)
    return int(definition), int(cohort) if cohort else None
