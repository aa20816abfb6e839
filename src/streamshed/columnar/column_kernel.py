"""The rows of a stream, many at a time, become sums by slice, sharing class, mask and key."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from types import MappingProxyType

import numpy as np
import pyarrow as pa

from streamshed.columnar.class_sums import (
    CLASS_SUMS,
    ClassExpressions,
    Slices,
    bit_totals,
    class_sums,
    group_signs,
    total_bits,
)
from streamshed.columnar.column_work import ColumnWork, line_types
from streamshed.columnar.expressions.compiled import ColumnExpression, compiled
from streamshed.columnar.group_cohorts import CohortKeys
from streamshed.columnar.key_index import KeyIndex
from streamshed.columnar.line import Line, words
from streamshed.columnar.row_values import values_of
from streamshed.joins.model.arrays import Booleans, Floats, Ints
from streamshed.joins.sums.value_sums import as_wholes
from streamshed.network.words.numbering import LARGEST_NUMBER, MICROSECONDS_PER_NUMBER
from streamshed.sharing.instructions import Define, Match, Test
from streamshed.sharing.probes import PROBED

MOST_BITS = 8
"""Of so many queries totals are looked at, whatever their number: a few milliseconds for 131,072 rows."""


class ColumnKernel:
    """Computes what rows add to slices; made once for many micro-batches.

    Attributes:
        cohort_keys: `ColumnWork.cohort_keys`, compiled.

    Args:
        work: What is done with the rows.
    """

    def __init__(self, work: ColumnWork) -> None:
        self._work = work
        types = line_types(work)

        def expression(sql: str) -> ColumnExpression:
            return compiled(sql, types, work.dialect)

        self._time = expression(f"`{work.time}`" if work.is_numbered else work.time)
        self._line = [
            (
                instruction,
                expression(instruction.sql)
                if isinstance(instruction, (Define, Test)) and instruction.column != PROBED
                else None,
            )
            for instruction in work.instructions
        ]
        self._classes = [
            (
                class_,
                ClassExpressions(
                    tuple(map(expression, class_.keys)),
                    None if class_.value is None else expression(class_.value),
                ),
            )
            for class_ in work.classes
        ]
        self.cohort_keys = tuple(CohortKeys(tuple(map(expression, keys))) for keys in work.cohort_keys)

    def instants(self, columns: Mapping[str, pa.Array], rows: int) -> tuple[Ints, Booleans]:
        """Return the instants of rows, microseconds, and which rows have one.

        Raises:
            Unsure: Spark has to tell.
        """
        column = values_of(self._time, columns, rows, None)
        numbers, has_time = as_wholes(column), np.asarray(column.is_valid())
        if not self._work.is_numbered:
            return numbers, has_time
        is_small = (numbers >= -LARGEST_NUMBER) & (numbers <= LARGEST_NUMBER)
        return np.where(is_small, numbers, 0) * MICROSECONDS_PER_NUMBER, has_time & is_small

    def line(
        self, columns: Mapping[str, pa.Array], instants: Ints, lookups: Mapping[str, KeyIndex] = MappingProxyType({})
    ) -> Line:
        """Return rows with all that is computed of each.

        Args:
            columns: The stream's columns, by name.
            instants: Of the rows, microseconds.
            lookups: The relations, by the lookup (`Match.matched`).

        Raises:
            Unsure: Spark has to tell what becomes of some row.
        """
        line = Line(dict(columns), instants)
        for instruction, expression in self._line:
            lookup = lookups[instruction.matched] if isinstance(instruction, Match) else None
            line.run(instruction, expression, lookup)
        return line

    def sums(self, line: Line, passes: pa.Array | None, *, is_sampled: bool, cohorts: Ints | None = None) -> pa.Table:
        """Return what rows add to slices, with the columns of `CLASS_SUMS`.

        Args:
            line: The rows.
            passes: Per row, what its samplers let pass, see `Gates.passes`; null: everything.
            is_sampled: Whether anything is shed.
            cohorts: Per row, that of its block; None: all blocks are read.

        Raises:
            Unsure: Spark has to tell what becomes of some row.
        """
        slices, of_class = Slices(line.times), words(passes)
        return pa.concat_tables(
            [
                CLASS_SUMS.empty_table(),
                *(
                    class_sums(
                        class_, expressions, line, slices, of_class.get(index), is_sampled=is_sampled, cohorts=cohorts
                    )
                    for index, (class_, expressions) in enumerate(self._classes)
                ),
            ]
        )

    def totaled(self, line: Line) -> Iterator[Booleans | Floats]:
        """Yield totals that queries ask for, `MOST_BITS` queries by chance: whether rows count, or their values, or 0.

        Args:
            line: The rows.

        Raises:
            Unsure: Spark has to tell the key or the value of a row.
        """
        bits = [(index, bit) for index, (one, _) in enumerate(self._classes) for bit in total_bits(one)]
        chosen = random.sample(bits, min(MOST_BITS, len(bits)))
        for index, (column_class, expressions) in enumerate(self._classes):
            of_class = [bit for place, bit in chosen if place == index]
            signs = group_signs(column_class, expressions, line, of_class)
            for bit in of_class:
                yield from bit_totals(column_class, expressions, line, bit, signs)
