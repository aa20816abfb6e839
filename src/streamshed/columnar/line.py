"""The straight line of a stream, run for many rows at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamshed.columnar.expressions.compiled import ColumnExpression
from streamshed.columnar.key_index import KeyIndex
from streamshed.columnar.row_values import encoded_values_of, values_of
from streamshed.columnar.spark_hash import xxhash64
from streamshed.columnar.untranslatable import Unsure
from streamshed.joins.model.arrays import Booleans, Ints, as_booleans
from streamshed.sharing.instructions import Define, Instruction, Match, Test
from streamshed.sharing.probes import ONE_IN, PROBED


@dataclass(eq=False)
class Line:
    """Rows, with what has been computed of them so far.

    Attributes:
        columns: The columns, by name.
        times: Their instants, microseconds.
        conditions: The conditions, by name: whether a row passes.
    """

    columns: dict[str, pa.Array]
    times: Ints
    conditions: dict[str, Booleans] = field(default_factory=dict)
    _passing: dict[tuple[str, ...], Booleans | None] = field(default_factory=dict)

    def run(self, instruction: Instruction, expression: ColumnExpression | None, lookup: KeyIndex | None) -> None:
        """Compute what an instruction adds.

        Args:
            instruction: It.
            expression: What it computes, if it does.
            lookup: Where it looks rows up, if it does.

        Raises:
            Unsure: Spark has to tell what becomes of some row.
        """
        reaches = self.passing(instruction.guard)
        if isinstance(instruction, Test):
            self.conditions[instruction.column] = self._truth(instruction, expression, reaches)
        elif isinstance(instruction, Define) and expression is not None:
            values = self.value(expression, reaches)
            self.columns[instruction.column] = values if reaches is None else _only(values, reaches)
        elif isinstance(instruction, Match) and lookup is not None:
            ours = instruction.on[0][0].lower()
            keys = next(column for name, column in self.columns.items() if name.lower() == ours)
            self.conditions[instruction.matched], partners = lookup.matched(keys, reaches)
            self.columns |= {output: partners[name.lower()] for name, output in instruction.outputs}

    def passing(self, conditions: Sequence[str]) -> Booleans | None:
        """Return which rows pass all of some conditions; None: there are none."""
        names = tuple(conditions)
        if names not in self._passing:
            first, last = self.passing(names[:-1]) if names else None, self.conditions[names[-1]] if names else None
            self._passing[names] = last if first is None or last is None else first & last
        return self._passing[names]

    def value(self, expression: ColumnExpression, reaches: Booleans | None) -> pa.Array:
        """Return the values of an expression, right for rows that reach it; of others they may be anything.

        Raises:
            Unsure: Spark has to tell the value of a row that reaches it.
        """
        self._add_conditions(expression)
        return values_of(expression, self.columns, len(self.times), reaches)

    def encoded_value(self, expression: ColumnExpression, reaches: Booleans | None) -> pa.Array:
        """Return the same, as numbers of entries where rows that are alike were computed once; see `value`."""
        self._add_conditions(expression)
        return encoded_values_of(expression, self.columns, len(self.times), reaches)

    def _add_conditions(self, expression: ColumnExpression) -> None:
        for name in expression.columns & self.conditions.keys():
            self.columns[name] = pa.array(self.conditions[name])

    def _truth(self, test: Test, expression: ColumnExpression | None, reaches: Booleans | None) -> Booleans:
        if test.column == PROBED:
            return _every_nth(self.times, ONE_IN)
        if expression is None:
            raise TypeError(f"{test} without an expression")
        values = self.value(expression, reaches)
        passes = as_booleans(pc.fill_null(values, fill_value=False) if values.null_count else values)
        return passes if reaches is None else passes & reaches


def _every_nth(times: Ints, n: int) -> Booleans:
    """One row in n, from one of the first n on that the first time chooses: as a hash of each row, and far cheaper."""
    chosen = np.zeros(len(times), np.bool_)
    if len(times):
        chosen[int(xxhash64(times[:1])[0]) % n :: n] = True
    return chosen


def _only(values: pa.Array, reaches: Booleans) -> pa.Array:
    return pc.if_else(pa.array(reaches), values, pa.scalar(None, values.type))


def words(passes: pa.Array | None) -> Mapping[int, Ints]:
    """Return the words of what rows pass, by index; none where all pass everything.

    Args:
        passes: Per row a struct of its words; null: it passes everything.

    Raises:
        Unsure: Some rows pass everything, others do not.

    >>> words(pa.array([{"w0": 3, "w1": 1}, {"w0": 2, "w1": 0}]))[0].tolist()
    [3, 2]
    """
    if passes is None or passes.null_count == len(passes):
        return {}
    if passes.null_count:
        raise Unsure(np.asarray(passes.is_null()))
    return {index: np.asarray(passes.field(index)) for index in range(passes.type.num_fields)}
