"""What cohorts of blocks bring to totals, as one list of numbers, whose lists add up number by number.

Of each cohort in turn it has the numbers of `BLOCK_FIELDS`.
"""

from __future__ import annotations

from streamshed.network.terms.join_shedding import COHORTS

BLOCK_FIELDS = ("rows", "present", "total", "squares")
"""Rows, values that are not null, their sum, and that of their squares."""

BLOCK_NUMBERS = COHORTS * len(BLOCK_FIELDS)
"""How many numbers a list has, of the slices of a micro-batch."""

EXCESS_FIELDS = ("rows", "present", "squares")
"""Of windows a list has these, too, behind the others: Σ(1−P)/P² of 1, of 1 and of v², over the rows of all cohorts."""
