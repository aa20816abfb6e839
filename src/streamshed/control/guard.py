"""What no plan may do, whoever proposed it."""

from dataclasses import dataclass

from streamshed.network.model.network import QueryNetwork
from streamshed.planning.plan.budget import Budget
from streamshed.planning.plan.plan import SheddingPlan
from streamshed.planning.plan.pricing import with_work_codes
from streamshed.planning.tree.quantization import SMALLEST, WHOLE, code_of
from streamshed.planning.tree.scalability import least_shares
from streamshed.statistics.forecast import Statistics

DEEPEST_CUT = 10.0
"""A share of work may be at most so many times smaller than what the load asks for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Clamp:
    """One share of work that the guard changed.

    Args:
        stream: Whose.
        reason: Short and stable: `guard_unknown_stream`, `guard_missing_stream`, `guard_range`,
            `guard_protected` or `guard_depth`.
        proposed_code: The work code of the plan; None where it had none.
        allowed_code: What applies instead; None where the stream does not exist.
    """

    stream: str
    reason: str
    proposed_code: int | None
    allowed_code: int | None

    def __str__(self) -> str:
        return f"{self.reason}({self.stream}: {self.proposed_code} -> {self.allowed_code})"


@dataclass(frozen=True, slots=True)
class GuardedPlan:
    """A plan that may be applied, and what had to be changed for that."""

    plan: SheddingPlan
    clamps: tuple[Clamp, ...]


def guarded(network: QueryNetwork, plan: SheddingPlan, *, statistics: Statistics, budget: Budget) -> GuardedPlan:
    """Bring a plan within what is allowed.

    Afterwards every stream of the network, and no other, has a work code of 0 to 255; where nothing of a stream's work
    may be shed that is 0; and of no stream the work that may be shed is cut more than ten times deeper than the load
    asks for, i.e. than budget / unshed seconds. Deeper cuts would cost answers and save next to nothing, as when
    reading alone exceeds the budget.
    """
    least = least_shares(network, statistics)
    deepest = code_of(min(1.0, budget.seconds / plan.unshed_seconds) / DEEPEST_CUT)
    names = [stream.name for stream in network.streams]
    clamps = [
        Clamp(stream=stream, reason="guard_unknown_stream", proposed_code=code, allowed_code=None)
        for stream, code in plan.work_codes.items()
        if stream not in names
    ]
    work_codes: dict[str, int] = {}
    for stream in names:
        proposed = plan.work_codes.get(stream)
        reason, allowed = _allowed(proposed, is_sheddable=least[stream] < 1, deepest=deepest)
        work_codes[stream] = allowed
        if reason is not None:
            clamps.append(Clamp(stream=stream, reason=reason, proposed_code=proposed, allowed_code=allowed))
    return GuardedPlan(with_work_codes(plan, work_codes, statistics=statistics, budget=budget), tuple(clamps))


def _allowed(proposed: int | None, *, is_sheddable: bool, deepest: int) -> tuple[str | None, int]:
    """Return the reason for a change, if one is needed, and the code that applies."""
    if proposed is None:
        return "guard_missing_stream", WHOLE
    if not is_sheddable and proposed > WHOLE:
        return "guard_protected", WHOLE
    if not WHOLE <= proposed <= SMALLEST:
        return "guard_range", max(WHOLE, min(deepest, proposed))
    if proposed > deepest:
        return "guard_depth", deepest
    return None, proposed
