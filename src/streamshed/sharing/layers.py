"""Instructions in layers: those of a layer do not depend on one another, so one projection computes them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from streamshed.sharing.instructions import Call, Define, Instruction, Match, Test

_COMPUTED = re.compile(r"__\w+")


@dataclass(frozen=True)
class Layer:
    """Lookups, one after the other, and then columns, which may use what the lookups brought but not each other."""

    matches: tuple[Match, ...]
    columns: tuple[Define | Test | Call, ...]


def layers(instructions: Sequence[Instruction], inlined: frozenset[str] = frozenset()) -> tuple[Layer, ...]:
    """Put every instruction into the first layer in which all that it needs is there.

    Args:
        instructions: In an order that satisfies their dependencies, which each layer keeps.
        inlined: The tests that are evaluated where they are used: others of their layer may use them.

    >>> from streamshed.sharing.instructions import Test
    >>> big, guarded = Test("__test_1", "size > 9", ()), Test("__test_2", "1 / n > 3", ("__test_1",))
    >>> [len(layer.columns) for layer in layers([big, guarded, Test("__test_3", "n = 1", ())])]
    [2, 1]
    """
    depth_needed: dict[str, int] = {}
    matches: dict[int, list[Match]] = {}
    columns: dict[int, list[Define | Test | Call]] = {}
    for instruction in instructions:
        depth = max((depth_needed.get(name, 0) for name in inputs(instruction)), default=0)
        if isinstance(instruction, Match):
            # Lookups come before the columns of their layer, inlined ones among them.
            depth = max((depth, *(depth_needed[name] + 1 for name in instruction.guard if name in inlined)))
            matches.setdefault(depth, []).append(instruction)
            depth_needed |= dict.fromkeys((instruction.matched, *(name for _, name in instruction.outputs)), depth)
        else:
            columns.setdefault(depth, []).append(instruction)
            depth_needed[instruction.column] = depth if instruction.column in inlined else depth + 1
    depths = range(max((*matches, *columns), default=-1) + 1)
    return tuple(Layer(tuple(matches.get(depth, ())), tuple(columns.get(depth, ()))) for depth in depths)


def inputs(instruction: Instruction) -> frozenset[str]:
    """The computed columns an instruction reads, and perhaps words that look like one."""
    match instruction:
        case Match():
            return frozenset((*(ours for ours, _ in instruction.on), *instruction.guard))
        case Call():
            return frozenset((*instruction.arguments, *instruction.guard))
        case Define() | Test():
            return frozenset((*mentioned(instruction.sql), *instruction.guard))


def mentioned(sql: str) -> Iterable[str]:
    """Return the computed columns in an expression, and perhaps words that look like one."""
    columns: list[str] = _COMPUTED.findall(sql)
    return columns
