"""Which sampling rate holds where: the effective rates of a stream's intakes as gates before its instructions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from streamshed.sharing.counted_rows import Role, role_of
from streamshed.sharing.intake import Share
from streamshed.sharing.sharing_class import WORD_BITS

LEVELS = 256
"""A row's level is the code of the smallest sampling rate that it passes: it passes all codes up to its level."""

NEVER = LEVELS - 1
"""The code of rows that are only counted where that is not worth while: no row passes it."""

STEP = 8
"""By so many codes a row of the next size has smaller ones: sizes are told apart by factors of 10^(8/32), about 1.8."""


@dataclass(frozen=True)
class Gating:
    """Where the intakes of a stream are.

    Attributes:
        classes: Per sharing class, per bit of its mask, the intake.
        row_queries: Per set-valued query (`Query.definition_id`), the intake.
        instructions: Per instruction, the intakes that ask for it; none: it has no gate.
        shares: Per intake, the values of queries that are answered from its rows.
        askers: Per aggregate that is there for others over its answers (`Query.definition_id`), the queries that rest
            on it.
        key_sets: Per query whose windows may be dropped by group (`Query.definition_id`), the number of what it groups
            by.
    """

    classes: tuple[tuple[int, ...], ...]
    row_queries: Mapping[int, int]
    instructions: tuple[tuple[int, ...], ...]
    shares: tuple[tuple[Share, ...], ...] = ()
    askers: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    key_sets: Mapping[int, int] = field(default_factory=dict)

    def is_counting(self, intake: int) -> bool:
        """Return whether its rows are only counted."""
        return any(role_of(slot) is not Role.VALUES for _, slot in self.shares[intake]) if self.shares else False

    def instruction_codes(self, intake_codes: Sequence[int]) -> tuple[int, ...]:
        """Return the code of the gate before each instruction: that of the largest rate below it."""
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

    Rows may be told apart by size: to some intakes a row of size s, a step number, has a rate 10^(s·STEP/32) times
    larger than that of the smallest, or is kept surely. All is told by size; where no intake does so, there is one.

    Attributes:
        streams: By size, the code of the gate directly behind the source.
        codes: By size, two hexadecimal digits each: the stream's code, then those of its intakes in order; None: all
            are 0.
        passes: By size and level, what such a row passes: per class the bits of its mask, then bits for the gates
            (`Gating.instruction_place`, `Gating.row_query_place`); None: a row that passes the first gate passes all,
            and none is only counted.
    """

    streams: tuple[int, ...]
    codes: tuple[str, ...] | None
    passes: tuple[tuple[tuple[int, ...], ...], ...] | None


def gates(gating: Gating, intake_codes: Sequence[int], sized: AbstractSet[int] = frozenset()) -> Gates:
    """Return the gates that give each intake its effective sampling rate.

    Args:
        gating: Where the intakes are.
        intake_codes: Codes of their rates; of those that choose rows by size, the rates of the smallest rows.
        sized: Which do.

    Example:
        Two bits of a class; one instruction that the second alone asks for.

        >>> row_gates = gates(Gating(((0, 1),), {}, ((1,),)), (0, 32))
        >>> row_gates.streams, row_gates.codes, row_gates.passes[0][31:33]
        ((0,), ('000020',), ((1, 0), (3, 1)))

        The second chooses by size: a row four steps larger is ten times likelier to be kept, i.e. surely.

        >>> row_gates = gates(Gating(((0, 1),), {}, ((1,),)), (0, 32), {1})
        >>> row_gates.codes, row_gates.passes[3][7:9]
        (('000020', '000018', '000010', '000008', '000000'), ((1, 0), (3, 1)))
    """
    idle = {i for i, code in enumerate(intake_codes) if code == NEVER and gating.is_counting(i)}
    largest = max((intake_codes[intake] for intake in sized), default=0)
    by_size = [
        [
            LEVELS if intake in idle else max(0, code - STEP * size) if intake in sized else code
            for intake, code in enumerate(intake_codes)
        ]
        for size in range(1 - largest // -STEP)
    ]
    streams = tuple(min(of_size, default=0) for of_size in by_size)
    active_codes = [code for intake, code in enumerate(intake_codes) if intake not in idle]
    if not any(active_codes):
        return Gates(streams, None, None)
    codes = tuple(_written((stream, *of_size)) for stream, of_size in zip(streams, by_size, strict=True))
    counts = any(gating.is_counting(intake) for intake in range(len(intake_codes)) if intake not in idle)
    if not sized and not counts and max(active_codes) == streams[0]:
        return Gates(streams, codes, None)
    return Gates(streams, codes, tuple(_passes(gating, of_size) for of_size in by_size))


def words_of(gating: Gating, wanted: Sequence[bool]) -> tuple[int, ...]:
    """Return the words of `Gates.passes` for a row that only some intakes want.

    Args:
        gating: Where the intakes are.
        wanted: Per intake, whether it wants the row.

    >>> words_of(Gating(((0, 1),), {}, ((1,),)), [True, False])
    (1, 0)
    """
    codes = _codes_by_word(gating, [int(not is_wanted) for is_wanted in wanted])
    return tuple(_word(word, 0) for word in codes)


def _passes(gating: Gating, intake_codes: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    words = _codes_by_word(gating, intake_codes)
    return tuple(tuple(_word(word, level) for word in words) for level in range(LEVELS))


def _codes_by_word(gating: Gating, intake_codes: Sequence[int]) -> list[list[int]]:
    """The codes of what each bit of each word stands for."""
    words = [[intake_codes[intake] for intake in bits] for bits in gating.classes]
    gated = [*gating.instruction_codes(intake_codes)]
    gated += [intake_codes[intake] for intake in gating.row_queries.values()]
    return words + [gated[first : first + WORD_BITS] for first in range(0, len(gated), WORD_BITS)]


def _written(codes: Sequence[int]) -> str:
    return "".join(f"{min(code, NEVER):02x}" for code in codes)


def _word(codes: Sequence[int], level: int) -> int:
    return sum(1 << bit for bit, code in enumerate(codes) if code <= level)
