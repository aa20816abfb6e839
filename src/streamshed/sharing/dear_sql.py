"""Which SQL of a stream's nodes may be dear, and whose work it is: what is worth a trial."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import lru_cache

from sqlglot import exp

from streamshed.network.model.lookup import Lookup
from streamshed.network.model.operators import may_drop
from streamshed.network.model.stream import Stream
from streamshed.sharing.instructions import Call, Define, Instruction, Match, Test
from streamshed.sharing.layers import inputs, mentioned
from streamshed.sharing.probes import PROBED
from streamshed.sharing.stream_work import StreamWork
from streamshed.sharing.totality import parsed

_CHEAP = (
    *(exp.Column, exp.Identifier, exp.Dot, exp.Literal, exp.Boolean, exp.Null, exp.Paren, exp.Var, exp.Interval),
    *(exp.And, exp.Or, exp.Not, exp.Case, exp.If, exp.Coalesce, exp.Nullif, exp.Is, exp.In, exp.Between, exp.IsNan),
    *(exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Greatest, exp.Least),
    *(exp.Neg, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.Abs, exp.Floor, exp.Ceil, exp.Sign),
    *(exp.Upper, exp.Lower, exp.Concat, exp.DPipe, exp.Substring, exp.Trim, exp.Left, exp.Right, exp.Like),
    *(exp.StartsWith, exp.EndsWith, exp.Contains),
    *(exp.Round, exp.Sqrt, exp.Exp, exp.Ln, exp.Log, exp.Pow),
    *(exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor, exp.BitwiseNot, exp.BitwiseLeftShift, exp.BitwiseRightShift),
    *(exp.Cast, exp.TryCast, exp.DataType, exp.DataTypeParam, exp.Length, exp.ArraySize),
    *(exp.Year, exp.Month, exp.Day, exp.Hour, exp.Minute, exp.Second, exp.Extract, exp.TimestampTrunc, exp.UnixMicros),
    *(exp.TsOrDsToDate, exp.UnixSeconds),
)
"""What takes a few nanoseconds of any row, or some tens."""

_CHEAP_FUNCTIONS = frozenset(
    {"pmod", "isnull", "isnotnull", "hash", "xxhash64", "timestamp_micros", "timestamp_millis", "timestamp_seconds"}
)
"""Those of them that the parser has no class for."""

_MOST_PARTS = 64
"""Of more parts than this, even cheap ones add up."""


@dataclass(frozen=True)
class DearSql:
    """An expression over the straight line that may be dear.

    Attributes:
        name: What it is known by: equal expressions behind equal conditions have one name.
        sql: Its text.
        guard: What a row has passed before it is evaluated.
        works: Whose work it is: the address of the node, and what a row that comes in there has passed.
    """

    name: str
    sql: str
    guard: tuple[str, ...]
    works: tuple[tuple[str, tuple[str, ...]], ...]

    @property
    def needs(self) -> frozenset[str]:
        """The computed columns that it takes to evaluate it, and to tell which rows come in."""
        return frozenset((*mentioned(self.sql), *self.guard, *(name for _, coming in self.works for name in coming)))


@lru_cache(maxsize=16384)
def may_be_dear(sql: str) -> bool:
    """Tell whether an expression may take more than a comparison does, as far as its form says.

    >>> [may_be_dear(sql) for sql in ("k >= 0", "a * 2 + coalesce(b, 0) > 1", "aggregate(xs, 0, (s, x) -> s + x)")]
    [False, False, True]
    """
    parts = list(parsed(sql).walk())
    return len(parts) > _MOST_PARTS or not all(map(_is_cheap, parts))


def _is_cheap(part: exp.Expr) -> bool:
    if isinstance(part, exp.Anonymous):
        return part.name.lower() in _CHEAP_FUNCTIONS
    return type(part) in _CHEAP


def dear_sql(work: StreamWork) -> tuple[DearSql, ...]:
    """Return the expressions of a stream's operators, keys and values that may be dear, each once.

    What needs the value of a user function is left out: these are not called on trial.

    Args:
        work: What the network asks of the stream.
    """
    by_name: dict[str, DearSql] = {}
    of_functions = _needing_functions(work.program.instructions)
    for expression in (*_of_operators(work), *_of_aggregates(work)):
        if expression.needs.isdisjoint(of_functions) and may_be_dear(expression.sql):
            same = by_name.get(expression.name, replace(expression, works=()))
            works = tuple(dict.fromkeys((*same.works, *expression.works)))
            by_name[expression.name] = replace(same, works=works)
    return tuple(by_name.values())


def instructions_for(instructions: Sequence[Instruction], needs: Iterable[str]) -> tuple[Instruction, ...]:
    """Return those of some instructions that it takes to compute some columns, in their order.

    >>> first, second = Define("__map_1", "a + 1", ()), Test("__test_2", "__map_1 > 3", ())
    >>> [one.column for one in instructions_for([first, second, Test("__test_3", "a > 9", ())], ["__test_2"])]
    ['__map_1', '__test_2']
    """
    wanted, chosen = set(needs), list[Instruction]()
    for instruction in reversed(instructions):
        if not wanted.isdisjoint(_outputs(instruction)):
            chosen.append(instruction)
            wanted |= inputs(instruction)
    return tuple(reversed(chosen))


def _needing_functions(instructions: Sequence[Instruction]) -> AbstractSet[str]:
    """Return the columns of the straight line that depend on a value of a user function."""
    columns: set[str] = set()
    for instruction in instructions:
        if isinstance(instruction, Call) or not inputs(instruction).isdisjoint(columns):
            columns |= _outputs(instruction)
    return columns


def _outputs(instruction: Instruction) -> AbstractSet[str]:
    if isinstance(instruction, Match):
        return {instruction.matched, *(name for _, name in instruction.outputs)}
    return {instruction.column}


def _of_operators(work: StreamWork) -> Iterator[DearSql]:
    places = work.program.places
    instructions = {
        instruction.column: instruction
        for instruction in work.program.instructions
        if isinstance(instruction, Define | Test) and instruction.column != PROBED
    }
    for node, place in places.items():
        if isinstance(node, Stream | Lookup):
            continue
        before = places[node.path[-2]]
        columns: Iterable[str] = place.conditions if may_drop(node) else place.columns.values()
        new = set(columns) - {*before.conditions, *before.columns.values()}
        for column in sorted(new & instructions.keys()):
            instruction = instructions[column]
            yield DearSql(column, instruction.sql, instruction.guard, ((node.address, before.conditions),))


def _of_aggregates(work: StreamWork) -> Iterator[DearSql]:
    """Keys and values, which are evaluated for the rows that a query takes."""
    for slot in (*work.slots, *work.count_slots):
        if slot.query.aggregate is None:
            continue
        conditions, address = work.program.places[slot.query.rows].conditions, slot.query.aggregate.asked_address
        for sql in filter(None, (*slot.keys, slot.value)):
            yield DearSql(" ".join((sql, *conditions)), sql, conditions, ((address, conditions),))
