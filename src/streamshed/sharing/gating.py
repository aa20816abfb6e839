"""Which sampling rate holds where: the effective rates of a stream's intakes as gates before its instructions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

WORD_BITS = 62
"""So many gates are in a word."""

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

    def instruction_codes(self, intake_codes: Sequence[int]) -> tuple[int, ...]:
        """Return the code of the gate before each instruction: of the largest rate that is asked for behind it."""
        stream = min(intake_codes, default=0)
        return tuple(min((intake_codes[intake] for intake in users), default=stream) for users in self.instructions)

    def instruction_place(self, index: int) -> tuple[int, int]:
        """Return the word of `Gates.passes`, and the bit in it, for the gate before an instruction."""
        word, bit = divmod(index, WORD_BITS)
        return len(self.classes) + word, bit

    def row_query_place(self, definition_id: int) -> tuple[int, int]:
        """Return the same for the gate before a set-valued query."""
        return self.instruction_place(len(self.instructions) + list(self.row_queries).index(definition_id))


@dataclass(frozen=True)
class Gates:
    """What of a stream's rows passes where in a micro-batch.

    A larger code is a smaller rate. A row passes all rates whose code is at most its level, so samples are nested, and
    the gate before an instruction has the largest of the rates that are asked for behind it ([B04] Algorithm 1).

    Attributes:
        stream: Code of the gate directly behind the source.
        codes: Two hexadecimal digits each: the stream's code, then those of its intakes in order; None: all are 0.
        passes: By level, what a row of that level passes: per class the bits of its mask, then bits for the gates
            (`Gating.instruction_place`, `Gating.row_query_place`); None: a row that passes the first gate passes all.
    """

    stream: int
    codes: str | None
    passes: tuple[tuple[int, ...], ...] | None


def gates(gating: Gating, intake_codes: Sequence[int]) -> Gates:
    """Return the gates that give each intake its effective sampling rate.

    Args:
        gating: Where the intakes are.
        intake_codes: Codes of their rates.

    Example:
        Two bits of a class; one instruction that the second alone asks for.

        >>> found = gates(Gating(((0, 1),), {}, ((1,),)), (0, 32))
        >>> found.stream, found.codes, found.passes[31:33]
        (0, '000020', ((1, 0), (3, 1)))
    """
    stream = min(intake_codes, default=0)
    every = (stream, *intake_codes)
    codes = "".join(f"{code:02x}" for code in every) if any(every) else None
    if max(every) == stream:
        return Gates(stream, codes, None)
    words = [[intake_codes[intake] for intake in bits] for bits in gating.classes]
    gated = [*gating.instruction_codes(intake_codes)]
    gated += [intake_codes[intake] for intake in gating.row_queries.values()]
    words += [gated[first : first + WORD_BITS] for first in range(0, len(gated), WORD_BITS)]
    return Gates(stream, codes, tuple(tuple(_word(word, level) for word in words) for level in range(LEVELS)))


def _word(codes: Sequence[int], level: int) -> int:
    return sum(1 << bit for bit, code in enumerate(codes) if code <= level)
