"""Every policy there is: how the work that fits is spread over the queries."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from streamshed.errors import near_miss
from streamshed.network.network import QueryNetwork
from streamshed.planning.quantization import sampling_rate_of
from streamshed.planning.query_rates import ComingWork, QueryRates, spread, uniform_spread
from streamshed.planning.rate_policies import RATE_POLICIES, RatePolicy
from streamshed.planning.scalability import check_scalable


@dataclass(frozen=True, slots=True)
class Policy:
    """A way to shed.

    Args:
        name: How a user asks for it.
        rates: Chooses effective sampling rates; None: a stream has one rate, that of the sampler behind its source.
        check: Raises UnsheddableQueryError for a network with queries that the policy cannot answer.
    """

    name: str
    rates: RatePolicy | None
    check: Callable[[QueryNetwork], None]

    def least_shares(self, work: ComingWork) -> dict[str, float] | None:
        """Return the share of each stream's work that nothing may shed; None: all of it where any of it."""
        return None if self.rates is None else work.least_shares

    def query_rates(self, work: ComingWork, share_codes: Mapping[str, int]) -> QueryRates:
        """Return what each query is answered from.

        Args:
            work: The work on the coming rows.
            share_codes: Per stream, the code of the share of its work that may be done.
        """
        if self.rates is None:
            return uniform_spread(work, share_codes)
        return spread(work, self.rates, {stream: sampling_rate_of(code) for stream, code in share_codes.items()})


POLICIES: tuple[Policy, ...] = (
    Policy("uniform", None, check_scalable),
    *(Policy(name, rates, check_scalable) for name, rates in RATE_POLICIES.items() if name != "uniform"),
)
"""Simplest first: a policy further down needs more statistics than those above it."""

DEFAULT_POLICY = "least_error"


def policy_named(name: str) -> Policy:
    """Return a policy by its name.

    Raises:
        ValueError: There is none of that name.

    Example:
        >>> policy_named("uniform").name
        'uniform'
    """
    for policy in POLICIES:
        if policy.name == name:
            return policy
    names = [policy.name for policy in POLICIES]
    raise ValueError(f"unknown policy {name!r}, expected one of {', '.join(names)}{near_miss(name, names)}")
