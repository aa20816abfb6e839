"""SideRows of a sampled side: the rate at which each was drawn, the smallest rate that it passes, and its cohort.

A row is drawn once, when it comes, at the rate in force. Samples are nested: in a micro-batch with a smaller rate only
those stored rows take part that pass this rate as well. So a pair has the smaller one of two rates, its row's and the
micro-batch's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from streamshed.joins.model.arrays import Booleans, Floats, Ints, one_chunk
from streamshed.joins.model.side_rows import SideRows
from streamshed.network.terms.join_shedding import COHORTS

DRAWN = "__drawn"
"""The column that tells it: level · 2⁸ + cohort, and above these the code of the rate that the row was drawn at."""

STEPS_PER_DECADE = 32
"""Rates are 10^(−code/32); a row of some level passes all rates whose codes are no larger."""

_LEVEL, _CODE, _BYTE = 8, 16, 0xFF


@dataclass(frozen=True)
class Drawn:
    """What the column `DRAWN` says of rows.

    Args:
        packed: Its numbers.

    Example:
        >>> drawn = Drawn.of(pa.table({DRAWN: [(40 << 8) + 3, (9 << 8) + 15]}))
        >>> drawn.passing(32).tolist(), drawn.cohorts.tolist()
        ([True, False], [3, 15])
        >>> drawn.at(16).codes(8).tolist(), drawn.at(16).codes(32).tolist()
        ([16, 16], [32, 32])
    """

    packed: Ints

    @classmethod
    def of(cls, rows: pa.Table) -> Drawn:
        """Read it of rows that have the column."""
        return cls(np.asarray(one_chunk(rows.column(DRAWN)), np.int64))

    @property
    def cohorts(self) -> Ints:
        """The cohort of each row."""
        return np.asarray(self.packed & _BYTE)

    def passing(self, code: int) -> Booleans:
        """Return which rows pass the rate of a code."""
        return np.asarray(((self.packed >> _LEVEL) & _BYTE) >= code)

    def codes(self, code: int) -> Ints:
        """Return the codes of the rates at which their pairs are there.

        Args:
            code: That of the micro-batch in which these are found.
        """
        return np.asarray(np.maximum(self.packed >> _CODE, code))

    def at(self, code: int) -> Drawn:
        """Return the same for rows that are drawn now, at the rate of a code."""
        return Drawn((self.packed & ((1 << _CODE) - 1)) | (code << _CODE))

    def strata(self, code: int) -> Ints | None:
        """Return per row a number for the rate and the cohort of its pairs, 0 at rate 1; None: all have rate 1.

        Args:
            code: As in `codes`.
        """
        codes = self.codes(code)
        if not codes.any():
            return None
        return np.asarray(np.where(codes > 0, codes * COHORTS + self.cohorts, 0))


def drawn_now(rows: SideRows, code: int) -> SideRows:
    """Return those of new rows that are drawn, with the rate at which they were.

    Args:
        rows: New ones of the sampled side.
        code: Of the rate.
    """
    drawn = Drawn.of(rows.table)
    place = rows.table.column_names.index(DRAWN)
    drawn_table = rows.table.set_column(place, DRAWN, pa.array(drawn.at(code).packed, pa.int32()))
    return SideRows(drawn_table.combine_chunks()).chosen(drawn.passing(code))


def passing(stored: Sequence[SideRows], code: int) -> list[SideRows]:
    """Return those of stored rows that take part in a micro-batch.

    Args:
        stored: SideRows of the sampled side.
        code: Of the rate that is in force.
    """
    return [rows.chosen(Drawn.of(rows.table).passing(code)) for rows in stored] if code else list(stored)


def mean_weight(several: Sequence[SideRows], code: int) -> float:
    """Return the mean of 1/P over some rows, P the rate of their pairs; 1/P of the code where there are no rows.

    Args:
        several: SideRows of the sampled side.
        code: Of the rate that is in force.

    >>> mean_weight([], 32)
    10.0
    """
    weights = [weights_of(Drawn.of(rows.table).codes(code)) for rows in several if len(rows)]
    return float(np.concatenate(weights).mean() if weights else weights_of(np.array([code]))[0])


def weights_of(codes: Ints) -> Floats:
    """Return 1/P of the rates of codes."""
    weights: Floats = _WEIGHTS[codes]
    return weights


_WEIGHTS = 10.0 ** (np.arange(256) / STEPS_PER_DECADE)


def strata_texts(strata: Ints) -> pa.Array:
    """Return how state keys tell rate and cohort: the code in two hexadecimal digits, then one for the cohort.

    >>> strata_texts(np.array([0, 17 * 16 + 10])).to_pylist()
    [None, '11a']
    """
    distinct, places = np.unique(strata, return_inverse=True)
    texts = [f"{one:03x}" if one else None for one in distinct.tolist()]
    return pa.array(texts, pa.string()).take(pa.array(places.ravel()))
