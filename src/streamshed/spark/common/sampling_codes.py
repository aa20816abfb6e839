"""Sampling rates as they stand in state keys: two hexadecimal digits per rate, nothing for rate 1.

A digit more, where a join is sampled, and there is one rate, is the cohort of the row that was drawn.
"""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from streamshed.planning.tree.quantization import STEPS_PER_DECADE

CODE_DIGITS = 2
"""Of each code; `Gating` writes them."""


def sampling_rate(codes: Column, place: Column) -> Column:
    """Return the rate that one of some codes stands for.

    Args:
        codes: One code that is everybody's, with or without a cohort, or one after the other; empty or null: all rates
            are 1.
        place: Whose, from 0.
    """
    at = F.when(F.length(codes) > CODE_DIGITS + 1, place * CODE_DIGITS + 1).otherwise(F.lit(1))
    code = F.conv(F.substr(codes, at.cast("int"), F.lit(CODE_DIGITS)), 16, 10).cast("double")
    is_whole = F.coalesce(codes, F.lit("")) == F.lit("")
    return F.when(is_whole, F.lit(1.0)).otherwise(F.pow(F.lit(10.0), -code / F.lit(float(STEPS_PER_DECADE))))


def cohort(codes: Column) -> Column:
    """Return the cohort that some codes tell of; null where they tell of none."""
    return F.when(F.length(codes) % CODE_DIGITS == 1, F.conv(F.right(codes, F.lit(1)), 16, 10).cast("int"))
