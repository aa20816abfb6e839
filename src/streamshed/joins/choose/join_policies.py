"""Every shedding policy of joins there is, and what a micro-batch does under one.

Example:
    Three cells of 100 comparisons each, which yield 1, 3 and 2 results in a hundred; three quarters can be afforded.

    >>> from streamshed.joins.choose.expected_comparisons import ExpectedComparisons
    >>> from streamshed.joins.model.join_windows import JoinWindows
    >>> from streamshed.joins.windows.yields import Yields
    >>> windows = JoinWindows(20, 10, 10)
    >>> stored, new = (90.0, 100.0, 100.0), (10.0, 0.0, 0.0)
    >>> expected = ExpectedComparisons(windows=windows, with_stored=stored, among_new=new, reads=(2, 2, 2))
    >>> work = CellWork(expected=expected, yields=Yields((1e6, 1e6, 1e6), (1e4, 3e4, 2e4)))
    >>> for policy in JOIN_POLICIES:
    ...     chosen = policy.select(work, 225.0)
    ...     print(f"{policy.name:16} {chosen.fractions} of {chosen.keep_share:.3f}")
    random_drop      (1.0, 1.0, 1.0) of 0.756
    rate_adaptation  (1.0, 0.5, 0.75) of 1.000
    time_correlation (0.5, 1.0, 0.75) of 1.000
    direction        (1.0, 1.0, 0.25) of 1.000
    greedy           (0.25, 1.0, 1.0) of 1.000
    >>> rate_adaptation(work, 150.0).fractions
    (1.0, 0.0, 0.5)
    >>> [round(random_drop(work, budget).keep_share, 9) for budget in (147.5, 1000.0)]
    [0.5, 1.0]
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from streamshed.errors import near_miss
from streamshed.joins.choose.greedy import greedy
from streamshed.joins.choose.papers_policies import direction, random_drop, rate_adaptation, time_correlation
from streamshed.joins.choose.selection import CellWork, Selection
from streamshed.joins.windows.join_plan import JoinPlan

SAMPLING = 0.1
"""γ: of the share r of the join that is done, the share that is spent on knowing what all cells yield."""

_LEAST_SHARE = 0.1
"""Of a budget, that comparisons have beside reads."""


@dataclass(frozen=True, slots=True)
class JoinPolicy:
    """A way to choose what is compared.

    Args:
        name: How a user asks for it.
        select: What is compared within a budget.
        learns: Whether it goes by yields, so that some rows are compared over all lags.
    """

    name: str
    select: Callable[[CellWork, float], Selection]
    learns: bool


JOIN_POLICIES: tuple[JoinPolicy, ...] = (
    JoinPolicy("random_drop", random_drop, learns=False),
    JoinPolicy("rate_adaptation", rate_adaptation, learns=False),
    JoinPolicy("time_correlation", time_correlation, learns=True),
    JoinPolicy("direction", direction, learns=True),
    JoinPolicy("greedy", greedy, learns=True),
)
"""The paper's baseline, then each step of it on top of the one before, then ours."""


def join_policy_named(name: str) -> JoinPolicy:
    """Return a policy by its name.

    Raises:
        ValueError: There is none of that name.

    Example:
        >>> join_policy_named("greedy").learns
        True
    """
    for policy in JOIN_POLICIES:
        if policy.name == name:
            return policy
    names = [policy.name for policy in JOIN_POLICIES]
    raise ValueError(f"unknown policy {name!r} of a join, expected one of {', '.join(names)}{near_miss(name, names)}")


def plan_within(
    policy: JoinPolicy, work: CellWork, budget: float, *, plan: JoinPlan | None = None, sampling: float = SAMPLING
) -> JoinPlan:
    """Return a plan that is expected to cost no more than a budget, what is spent on learning included.

    A share q = r·γ of new rows is compared over all lags; the selection f of the others has what is left:
    q·(full cost) + (1 − q)·(cost of the selection) = budget. So a cell is compared for q + (1 − q)·f of the rows. Where
    q > 0, everything that is stored is read; that is paid first, with at most nine tenths of the budget, so that
    something is compared.

    Args:
        policy: How to choose.
        work: What there is to compare.
        budget: What it may cost, in the unit of the prices.
        plan: Where everything else of the plan comes from.
        sampling: γ.

    Example:
        >>> from streamshed.joins.model.join_windows import JoinWindows
        >>> from streamshed.joins.choose.expected_comparisons import ExpectedComparisons
        >>> from streamshed.joins.windows.yields import Yields
        >>> windows, stored = JoinWindows(20, 0, 10), (50.0, 50.0)
        >>> expected = ExpectedComparisons(windows=windows, with_stored=stored, among_new=(0.0, 0.0), reads=(1, 1))
        >>> work = CellWork(expected=expected, yields=Yields((1e6, 1e6), (1e3, 2e3)))
        >>> found = plan_within(join_policy_named("greedy"), work, 50.0)
        >>> [round(one, 3) for one in found.fractions]
        [0.05, 0.95]
    """
    plan, fraction = plan or JoinPlan(), work.fraction(budget)
    if fraction == 1.0:
        return replace(plan, fractions=(1.0,) * work.expected.windows.cells, keep_share=1.0)
    full_share = fraction * sampling if policy.learns else 0.0
    if full_share:
        budget = max(_LEAST_SHARE * budget, budget - work.prices.read * sum(work.expected.reads))
        work = replace(work, prices=replace(work.prices, read=0.0))
        full_share = work.fraction(budget) * sampling
    left = (budget - full_share * float(work.costs.sum())) / (1.0 - full_share) if full_share < 1.0 else 0.0
    selection = policy.select(work, left)
    return replace(
        plan,
        fractions=tuple(full_share + (1.0 - full_share) * share for share in selection.fractions),
        keep_share=selection.keep_share,
    )
