"""Whether a row passes a sampler below the one behind its source."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from streamshed.sharing.gating import Gating
from streamshed.spark.common.internal_names import PASSES, SAMPLING_CODES
from streamshed.spark.common.sampling_codes import CODE_DIGITS


def passes(place: tuple[int, int]) -> Column:
    """Return whether a row passes a gate.

    Args:
        place: Its word and bit, as `Gating` tells.
    """
    word, bit = place
    return _word(word).bitwiseAND(F.lit(1 << bit).cast("bigint")) != 0


def passed_bits(mask: Column, class_index: int, counting_mask: int) -> Column:
    """Return the bits of a class's mask whose rates a row passes; never null.

    Args:
        mask: The bits whose conditions it passes.
        class_index: Index of the class among its stream's.
        counting_mask: Bits that it passes only where it is told so.
    """
    return mask.bitwiseAND(_word(class_index, ~counting_mask))


def _word(index: int, otherwise: int = -1) -> Column:
    """A word of what a row passes; where nothing says so, all of it.

    Never null: Spark would infer a filter on whatever could be, and compute it once more for that.
    """
    return F.coalesce(F.get(F.col(PASSES), F.lit(index)), F.lit(otherwise).cast("bigint"))


def class_codes(gating: Gating, class_index: int) -> Column:
    """Return the codes of a class's bits, from `sampling_codes`."""
    return _codes(
        F.col("sampling_codes"), 1 + sum(map(len, gating.classes[:class_index])), len(gating.classes[class_index])
    )


def row_query_codes(gating: Gating, definition_id: int) -> Column:
    """Return the code of a set-valued query, null where nothing is shed."""
    return _codes(F.col(SAMPLING_CODES), 1 + gating.row_queries[definition_id], 1)


def stream_codes() -> Column:
    """Return the code of the sampler behind the source, from `sampling_codes`."""
    return _codes(F.col("sampling_codes"), 0, 1)


def cohort_of_block(gating: Gating) -> Column:
    """Return the cohort of a row's block: a digit behind the codes of all rates, null where all blocks are read."""
    rates = 1 + sum(map(len, gating.classes)) + len(gating.row_queries)
    digit = F.substr("sampling_codes", F.lit(1 + rates * CODE_DIGITS), F.lit(1))
    return F.when(digit != "", F.conv(digit, 16, 10).cast("int"))


def _codes(codes: Column, first: int, count: int) -> Column:
    return F.substring(codes, 1 + first * CODE_DIGITS, count * CODE_DIGITS)
