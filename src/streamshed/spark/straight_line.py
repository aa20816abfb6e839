"""The instructions of a stream as columns of one DataFrame."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import assert_never

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from streamshed.sharing.instructions import Call, Define, Instruction, Match, Test
from streamshed.spark.internal_names import UNREADABLE
from streamshed.spark.relation_reader import relation_frame
from streamshed.spark.user_function import guarded_call


def run_instructions(rows: DataFrame, instructions: Sequence[Instruction]) -> DataFrame:
    """Add the columns that the instructions compute.

    What depends on nothing computed since goes into one projection, so that neighbors share one pass.
    """
    pending: dict[str, Column] = {}
    for instruction in instructions:
        if isinstance(instruction, Match):
            rows, pending = _flushed(rows, pending), {}
            rows = _matched(rows, instruction)
            continue
        if _inputs(instruction) & pending.keys():
            rows, pending = _flushed(rows, pending), {}
        pending[instruction.column] = _column(instruction)
    return _flushed(rows, pending)


def _flushed(rows: DataFrame, pending: dict[str, Column]) -> DataFrame:
    return rows.withColumns(pending) if pending else rows


def _inputs(instruction: Define | Test | Call) -> frozenset[str]:
    """The computed columns an instruction reads; those a text mentions are recognized by their marked names."""
    if isinstance(instruction, Call):
        return frozenset({*instruction.arguments, *instruction.guard})
    mentioned = {word for word in instruction.sql.replace("`", " ").split() if word.startswith("__")}
    return frozenset({*mentioned, *instruction.guard})


def _column(instruction: Define | Test | Call) -> Column:
    match instruction:
        case Define():
            return _guarded(F.expr(instruction.sql), instruction.guard)
        case Test():
            return F.coalesce(_guarded(F.expr(instruction.sql), instruction.guard), F.lit(False))
        case Call():
            return guarded_call(instruction, _all(instruction.guard))
        case _:
            assert_never(instruction)


def _guarded(value: Column, guard: Sequence[str]) -> Column:
    return F.when(_all(guard), value) if guard else value


def _all(guard: Sequence[str]) -> Column:
    return functools.reduce(operator.and_, [F.col(name) for name in guard], F.col(UNREADABLE).isNull())


def _matched(rows: DataFrame, match: Match) -> DataFrame:
    """Join the relation's rows to the left; keys of the relation are unique, which its reader checks."""
    theirs = relation_frame(match.relation, match.on)
    keys = [f"{match.matched}_{index}" for index in range(len(match.on))]
    renamed = theirs.select(
        *[F.col(theirs_name).alias(key) for (_, theirs_name), key in zip(match.on, keys, strict=True)],
        *[F.col(column).alias(output) for column, output in match.outputs],
        F.lit(True).alias(match.matched),
    )
    condition = functools.reduce(
        operator.and_, [F.col(ours) == F.col(key) for (ours, _), key in zip(match.on, keys, strict=True)]
    )
    joined = rows.join(F.broadcast(renamed), condition, "left").drop(*keys)
    return joined.withColumn(match.matched, F.coalesce(F.col(match.matched), F.lit(False)))
