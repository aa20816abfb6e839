"""What a join leaves out when there is no time for all of it, as a user says it."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from streamshed.errors import InvalidNetworkError, Problem, unknown_name
from streamshed.network.sql.expression import Expression
from streamshed.network.words.byte_size import format_byte_size
from streamshed.network.words.given import is_finite, is_text, is_whole_number

JOIN_POLICY_NAMES = ("random_drop", "rate_adaptation", "time_correlation", "direction", "greedy")
"""How what is compared may be chosen; `streamshed.joins.choose.join_policies` says what each does."""

DEFAULT_JOIN_POLICY_NAME = "greedy"
DEFAULT_SAMPLING = 0.1
"""γ of [G05] §5.1."""

JOIN_SIDES = ("left", "right")
"""Of which rows may be drawn in mode sample."""

COHORTS = 16
"""Into so many random groups the rows of that side are put: sums over each tell how far off a total may be."""


class JoinMode(StrEnum):
    """What the results of a join are under overload."""

    EXACT = "exact"
    """All of them: the join is never shed."""

    SUBSET = "subset"
    """Some of them, each one right: what finds least is not compared."""

    SAMPLE = "sample"
    """Those of a share P of the rows of one side, drawn by chance as they come; each result stands for 1/P."""


@dataclass(frozen=True, slots=True)
class JoinShedding:
    """How a join is shed under overload; no part of what it asks, so that a restart may change it, but for samples.

    Attributes:
        policy: How what is compared is chosen in mode subset, one of `JOIN_POLICY_NAMES`.
        mode: What its results are.
        weight: What a result is worth, SQL over the columns of results; None: all are worth the same. For mode subset.
        memory_bytes: How many bytes the windows of both sides may take in all; where they would take more, rows that
            promise least are forgotten. None: as many as they have. For mode subset.
        sampling: γ, in (0, 1]: of what is compared under overload, the share that is spent on learning where results
            are found.
        sampled_side: In mode sample, whose rows are drawn, one of `JOIN_SIDES`.

    Raises:
        InvalidNetworkError: Listing all that is wrong.

    Example:
        >>> str(JoinShedding(policy="direction", memory_bytes=2**29))
        'shed by direction, windows of at most 512 MiB'
        >>> str(JoinShedding()), str(JoinShedding(mode="exact"))
        ('', 'never shed')
        >>> str(JoinShedding(mode="sample", sampled_side="right"))
        'shed by a sample of right rows'
    """

    policy: str = DEFAULT_JOIN_POLICY_NAME
    mode: JoinMode = JoinMode.SUBSET
    weight: Expression | None = None
    memory_bytes: int | None = None
    sampling: float = DEFAULT_SAMPLING
    sampled_side: str = "left"

    def __post_init__(self) -> None:
        if problems := [*_problems(self)]:
            raise InvalidNetworkError(*problems)
        object.__setattr__(self, "mode", JoinMode(self.mode))
        object.__setattr__(self, "sampling", float(self.sampling))

    def __str__(self) -> str:
        said = {
            "never shed": self.mode is JoinMode.EXACT,
            f"shed by a sample of {self.sampled_side} rows": self.mode is JoinMode.SAMPLE,
            f"shed by {self.policy}": self.mode is JoinMode.SUBSET and self.policy != DEFAULT_JOIN_POLICY_NAME,
            f"results worth {self.weight}": self.weight is not None,
            f"windows of at most {format_byte_size(self.memory_bytes or 0)}": self.memory_bytes is not None,
            f"{self.sampling:g} of it to learn": self.sampling != DEFAULT_SAMPLING,
        }
        return ", ".join(part for part, is_said in said.items() if is_said)


def _problems(shedding: JoinShedding) -> Iterator[Problem]:
    policy, mode, memory_bytes, sampling = shedding.policy, shedding.mode, shedding.memory_bytes, shedding.sampling
    if not is_text(policy) or policy not in JOIN_POLICY_NAMES:
        yield Problem.of(unknown_name("policy", policy, JOIN_POLICY_NAMES), element="policy")
    if not is_text(mode) or mode not in tuple(JoinMode):
        yield Problem.of(unknown_name("mode of a join", mode, JoinMode), element="mode")
    if not is_finite(sampling) or not 0 < sampling <= 1:
        yield Problem(
            "sampling is the share of what is compared that is for learning, in (0, 1]",
            got=repr(sampling),
            element="sampling",
        )
    if memory_bytes is not None and not is_whole_number(memory_bytes, at_least=1):
        yield Problem("memory is a number of bytes of at least 1", got=repr(memory_bytes), element="memory")
    is_exact = is_text(mode) and mode == JoinMode.EXACT
    if memory_bytes is not None and is_exact:
        yield Problem(
            'its mode is exact: a limit of memory makes it forget rows, write mode="subset"', element="memory"
        )
    if shedding.weight is not None and is_exact:
        yield Problem(
            "its mode is exact: there is nothing to choose by what results are worth, leave weight out",
            element="weight",
        )
    if is_text(mode):
        yield from _sample_problems(mode, shedding.weight, memory_bytes, shedding.sampled_side)


def _sample_problems(
    mode: JoinMode | str, weight: Expression | None, memory_bytes: int | None, sampled_side: str
) -> Iterator[Problem]:
    if memory_bytes is not None and mode == JoinMode.SAMPLE:
        yield Problem(
            "its mode is sample: results would be missing for other reasons than chance, leave it out",
            element="memory",
        )
    if weight is not None and mode == JoinMode.SAMPLE:
        yield Problem(
            "its mode is sample: rows are drawn by chance, not by what results are worth, leave weight out",
            element="weight",
        )
    if not is_text(sampled_side) or sampled_side not in JOIN_SIDES:
        yield Problem.of(unknown_name("side of a join", sampled_side, JOIN_SIDES), element="sampled_side")
    elif sampled_side != JOIN_SIDES[0] and mode != JoinMode.SAMPLE:
        yield Problem(
            f'its mode is {mode}: no rows are drawn, leave sampled_side out or write mode="sample"',
            element="sampled_side",
        )
