"""Intakes: where rows of a stream are taken in at an effective sampling rate of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from streamshed.sharing.instructions import Define, Instruction, Match, StreamProgram, Test
from streamshed.sharing.layers import inputs, mentioned
from streamshed.sharing.probes import PROBED
from streamshed.sharing.totality import is_total

Share = tuple[int, int]
"""A value of a query: (`Query.definition_id`, slot)."""


@dataclass(frozen=True)
class Intake:
    """A bit of a sharing class's mask, or a set-valued query: what is answered from it has one effective sampling rate.

    Attributes:
        class_index: Index of the class among the stream's; None: a set-valued query.
        bit: Of the class's mask; 0 for a set-valued query.
        queries: Names of the queries that are answered from its rows.
        shares: Their values that are.
        needs: Columns of the straight line that its rows need.
    """

    class_index: int | None
    bit: int
    queries: tuple[str, ...]
    shares: tuple[Share, ...]
    needs: frozenset[str]


def instruction_users(program: StreamProgram, intakes: Sequence[Intake]) -> tuple[tuple[int, ...], ...]:
    """Return, for each instruction, the intakes that ask for it; none where a sampler before it would not pay.

    An intake asks for what its rows need, and for all that this needs. A comparison that cannot fail is evaluated for
    every row: to ask first whether anybody still wants it would cost as much.

    Args:
        program: The straight line.
        intakes: All of the stream.

    Example:
        >>> from streamshed.network.source.sources import rate
        >>> from streamshed.network.model.declared_stream import stream
        >>> ticks = stream("ticks", rate(1), time="timestamp")
        >>> dear, cheap = Define("__map_1", "sha2(value, 256)", ()), Test("__test_1", "value > 3", ())
        >>> of_dear = Intake(None, 0, ("dear",), (), frozenset({"__map_1"}))
        >>> of_cheap = Intake(None, 0, ("cheap",), (), frozenset({"__test_1"}))
        >>> instruction_users(StreamProgram(ticks, (dear, cheap), {}), (of_cheap, of_dear))
        ((1,), ())
    """
    users: dict[str, set[int]] = {}
    for index, intake in enumerate(intakes):
        for name in intake.needs:
            users.setdefault(name, set()).add(index)
    users_backwards: list[tuple[int, ...]] = []
    types = dict(program.stream.columns)
    for instruction in reversed(program.instructions):
        asking = set().union(*(users.get(name, set()) for name in _outputs(instruction)))
        for name in inputs(instruction):
            users.setdefault(name, set()).update(asking)
        is_cheap = isinstance(instruction, Define | Test) and (
            instruction.column == PROBED or is_total(instruction.sql, types)
        )
        users_backwards.append(() if is_cheap else tuple(sorted(asking)))
    return tuple(reversed(users_backwards))


def needed_columns(conditions: Sequence[str], *sqls: str | None) -> frozenset[str]:
    """Return the computed columns among conditions, and those that some expressions mention."""
    return frozenset((*conditions, *(name for sql in sqls if sql is not None for name in mentioned(sql))))


def _outputs(instruction: Instruction) -> tuple[str, ...]:
    if isinstance(instruction, Match):
        return (instruction.matched, *(name for _, name in instruction.outputs))
    return (instruction.column,)
