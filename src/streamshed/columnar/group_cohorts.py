"""To which cohorts the groups of rows belong: those that Spark computes, here for many rows at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from streamshed.columnar.expressions.compiled import ColumnExpression
from streamshed.columnar.group_keys import key_codes, written_keys
from streamshed.columnar.spark_hash import hash_of_row
from streamshed.columnar.texts.dictionaries import plain
from streamshed.columnar.texts.valid_texts import are_valid
from streamshed.columnar.untranslatable import Unsure
from streamshed.joins.model.arrays import Booleans, Ints
from streamshed.joins.sums.groups import grouped
from streamshed.network.terms.cohorts import COHORTS


@dataclass(frozen=True, eq=False)
class CohortKeys:
    """What queries group by whose windows may be dropped by group.

    Attributes:
        expressions: The keys.
    """

    expressions: tuple[ColumnExpression, ...]

    @property
    def columns(self) -> frozenset[str]:
        """The columns that keys are computed from."""
        return frozenset().union(*(expression.columns for expression in self.expressions))

    def cohorts(self, columns: Mapping[str, pa.Array], rows: int) -> tuple[Ints, Booleans]:
        r"""Return the cohort of each row, and which rows it is sure of: Spark has to tell those of the others.

        Keys are computed once for all rows that are alike.

        Example:
            >>> from streamshed.columnar.expressions.compiled import compiled
            >>> from streamshed.columnar.expressions.dialect import Dialect
            >>> host = compiled("CAST(key AS STRING)", {"key": pa.binary()}, Dialect(ansi=True, time_zone="UTC"))
            >>> cohorts, is_sure = CohortKeys((host,)).cohorts({"key": pa.array([b"a", b"b", b"a", b"\xff"])}, 4)
            >>> cohorts.tolist()[:3], is_sure.tolist()
            ([7, 8, 7], [True, True, True, False])
        """
        names = sorted(self.columns)
        codes = [key_codes(columns[name]) for name in names] or [np.zeros(rows, np.int64)]
        groups, places = grouped(codes)
        chosen = pa.array(places)
        of_groups, is_sure = self._of_groups({name: plain(columns[name].take(chosen)) for name in names}, len(places))
        return of_groups[groups], is_sure[groups]

    def _of_groups(self, columns: Mapping[str, pa.Array], count: int) -> tuple[Ints, Booleans]:
        is_sure = np.ones(count, np.bool_)
        for column in columns.values():
            if pa.types.is_string(column.type):
                is_sure &= are_valid(column)
        keys = self._keys(columns, is_sure)
        written = written_keys(keys, int(is_sure.sum()))
        state_key = [written["key_long"].fill_null(0), written["key_text"].fill_null("")]
        cohorts = np.zeros(count, np.int64)
        cohorts[is_sure] = hash_of_row(state_key, len(written["key_long"])) & (COHORTS - 1)
        return cohorts, is_sure

    def _keys(self, columns: Mapping[str, pa.Array], is_sure: Booleans) -> list[pa.Array]:
        """The keys of groups that are sure; the others are marked."""
        while True:
            chosen, count = pa.array(is_sure), int(is_sure.sum())
            sure = {name: column.filter(chosen) for name, column in columns.items()}
            try:
                return [expression.evaluate(sure, count) for expression in self.expressions]
            except Unsure as unsure:
                is_sure[np.flatnonzero(is_sure)[unsure.rows]] = False
