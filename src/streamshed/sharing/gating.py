"""Which sampling rate holds where: the effective rates of a stream's intakes as gates before its instructions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

LEVELS = 256
"""A row's level is the code of the smallest sampling rate that it passes: it passes all codes up to its level."""


@dataclass(frozen=True)
class Gating:
    """Where the intakes of a stream are.

    Attributes:
        classes: Per sharing class, per bit of its mask, the intake.
        row_queries: Per set-valued query (`Query.definition_id`), the intake.
        instructions: Per instruction, the intakes that ask for it; none: it has no gate.
    """

    classes: tuple[tuple[int, ...], ...]
    row_queries: Mapping[int, int]
    instructions: tuple[tuple[int, ...], ...]

    @property
    def intake_count(self) -> int:
        """How many intakes there are."""
        return sum(map(len, self.classes)) + len(self.row_queries)


@dataclass(frozen=True)
class Gates:
    """The gates of a stream in a micro-batch, each the code of the effective sampling rate behind it.

    A larger code is a smaller rate. A row passes all gates whose code is at most its level, so samples are nested: the
    gate before an instruction has the largest of the rates that are asked for behind it ([B04] Algorithm 1).

    Attributes:
        stream: Directly behind the source.
        instructions: Before each instruction.
        row_queries: Before each set-valued query, in the order of `Gating.row_queries`.
        class_codes: Per class, two hexadecimal digits per bit; two for all if they are alike, None where all are 0.
        allowed: Per class, by level, the bits that a row may set; None where it may set all.
    """

    stream: int
    instructions: tuple[int, ...]
    row_queries: tuple[int, ...]
    class_codes: tuple[str | None, ...]
    allowed: tuple[tuple[int, ...] | None, ...]


def gates(gating: Gating, intake_codes: Sequence[int]) -> Gates:
    """Return the gates that give each intake its effective sampling rate.

    Args:
        gating: Where the intakes are.
        intake_codes: Codes of their rates.

    Example:
        Two bits of a class; one instruction that the second alone asks for.

        >>> found = gates(Gating(((0, 1),), {}, ((1,),)), (0, 32))
        >>> found.stream, found.instructions, found.class_codes, found.allowed[0][31:33]
        (0, (32,), ('0020',), (1, 3))
    """
    stream = min(intake_codes, default=0)

    def code(intakes: Sequence[int]) -> int:
        return min((intake_codes[intake] for intake in intakes), default=stream)

    of_bits = [[intake_codes[intake] for intake in bits] for bits in gating.classes]
    return Gates(
        stream=stream,
        instructions=tuple(map(code, gating.instructions)),
        row_queries=tuple(intake_codes[intake] for intake in gating.row_queries.values()),
        class_codes=tuple(map(_written, of_bits)),
        allowed=tuple(_allowed(codes, stream) for codes in of_bits),
    )


def _written(codes: Sequence[int]) -> str | None:
    if len(set(codes)) > 1:
        return "".join(f"{code:02x}" for code in codes)
    return f"{codes[0]:02x}" if codes[0] else None


def _allowed(codes: Sequence[int], stream: int) -> tuple[int, ...] | None:
    if max(codes) <= stream:
        return None
    return tuple(sum(1 << bit for bit, code in enumerate(codes) if code <= level) for level in range(LEVELS))
