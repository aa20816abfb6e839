"""The straight line of a stream, run for many rows at once."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamshed.columnar.expressions.compiled import ColumnExpression
from streamshed.columnar.key_index import KeyIndex
from streamshed.columnar.spark_hash import xxhash64
from streamshed.columnar.untranslatable import Unsure
from streamshed.joins.model.arrays import Booleans, Ints
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
            passed = [self.conditions[name] for name in names]
            self._passing[names] = functools.reduce(np.logical_and, passed) if passed else None
        return self._passing[names]

    def value(self, expression: ColumnExpression, reaches: Booleans | None) -> pa.Array:
        """Return the values of an expression, right for rows that reach it; of others they may be anything.

        Raises:
            Unsure: Spark has to tell the value of a row that reaches it.
        """
        rows = len(self.times)
        for name in expression.columns & self.conditions.keys():
            self.columns[name] = pa.array(self.conditions[name])
        try:
            return expression.evaluate(self.columns, rows)
        except Unsure as unsure:
            if reaches is None or (unsure.rows & reaches).any():
                raise Unsure(unsure.rows if reaches is None else unsure.rows & reaches) from unsure
            left = unsure.rows
        places = np.flatnonzero(~left)
        some = {name: self.columns[name].take(pa.array(places)) for name in expression.columns}
        values = expression.evaluate(some, len(places))
        spread = np.zeros(rows, np.int64)
        spread[places] = np.arange(len(places))
        return values.take(pa.array(spread, mask=left))

    def _truth(self, test: Test, expression: ColumnExpression | None, reaches: Booleans | None) -> Booleans:
        if test.column == PROBED:
            return np.asarray(xxhash64(self.times) & (ONE_IN - 1) == 0)
        if expression is None:
            raise TypeError(f"{test} without an expression")
        values = self.value(expression, reaches)
        passes = np.asarray(pc.fill_null(values, fill_value=False) if values.null_count else values)
        return passes if reaches is None else passes & reaches


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
