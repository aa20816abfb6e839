"""Every policy there is: how the work that fits is spread over the queries."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from streamshed.errors import near_miss
from streamshed.network.model.network import QueryNetwork
from streamshed.planning.plan.coming_work import ComingWork
from streamshed.planning.plan.query_rates import QueryRates, demanded_shares, spread, uniform_spread
from streamshed.planning.rates.hoeffding import PAPERS_BOUND, HoeffdingSettings
from streamshed.planning.rates.rate_policies import BY_SIZE, COUNTING, RATE_POLICIES, RatePolicy, rate_policy_named
from streamshed.planning.tree.quantization import WHOLE, work_shares
from streamshed.planning.tree.scalability import check_scalable


@dataclass(frozen=True, slots=True)
class Policy:
    """A way to shed.

    Args:
        name: How a user asks for it.
        rates: Chooses effective sampling rates; None: a stream has one rate, that of the sampler behind its source.
        large_values: Whether it chooses rows by size where that serves.
        counted_rows: Whether it has rows counted where that serves.
        is_proportional: Whether rates keep their proportions when all errors grow or shrink by one factor.
        check: Raises UnsheddableQueryError for a network with queries that the policy cannot answer.
    """

    name: str
    rates: RatePolicy | None
    check: Callable[[QueryNetwork], None]
    large_values: bool = False
    counted_rows: bool = False
    is_proportional: bool = True

    def least_shares(self, work: ComingWork) -> dict[str, float] | None:
        """Return the share of each stream's work that nothing may shed; None: all of it where any of it."""
        return None if self.rates is None else work.least_shares

    def demanded_shares(self, work: ComingWork, planned: QueryRates) -> dict[str, float]:
        """Return, per stream, the share of the work on its rows that would be done if there were time for all of it.

        Args:
            work: The work on the coming rows.
            planned: What was planned for it.
        """
        if self.rates is None:
            return dict(uniform_spread(work, dict.fromkeys(work.streams, WHOLE)).work_shares)
        return demanded_shares(work, planned.windows)

    def query_rates(
        self, work: ComingWork, work_codes: Mapping[str, int], exact_shares: Mapping[str, float] | None = None
    ) -> QueryRates:
        """Return what each query is answered from.

        Args:
            work: The work on the coming rows.
            work_codes: Per stream, the code of the share that is done of the work that may be shed.
            exact_shares: Per stream, the share of all of its work that is done, before it was rounded to a code: what
                is known of it where windows are dropped. None: as the code says.
        """
        if self.rates is None:
            return uniform_spread(work, work_codes)
        of_codes = work_shares(work_codes, work.least_shares)
        return spread(work, self.rates, exact_shares if exact_shares is not None and work.droppable else of_codes)


POLICIES: tuple[Policy, ...] = (
    Policy("uniform", None, check_scalable),
    *(
        Policy(name, rates, check_scalable, large_values=name in BY_SIZE, counted_rows=name in COUNTING)
        for name, rates in RATE_POLICIES.items()
        if name != "uniform"
    ),
)
"""Simplest first: a policy further down needs more statistics than those above it."""


def policy_named(name: str, hoeffding: HoeffdingSettings = PAPERS_BOUND) -> Policy:
    """Return a policy by its name.

    Args:
        name: That of one of `POLICIES`.
        hoeffding: Settings of the policy of that name.

    Raises:
        ValueError: There is none of that name.

    Example:
        >>> policy_named("uniform").name
        'uniform'
    """
    for policy in POLICIES:
        if policy.name == name and policy.rates is not None:
            return replace(policy, rates=rate_policy_named(name, hoeffding), is_proportional=hoeffding.fudge == 0)
        if policy.name == name:
            return policy
    names = [policy.name for policy in POLICIES]
    raise ValueError(f"unknown policy {name!r}, expected one of {', '.join(names)}{near_miss(name, names)}")
