"""Every policy there is."""

from collections.abc import Callable
from dataclasses import dataclass

from streamshed.errors import near_miss
from streamshed.network.network import QueryNetwork
from streamshed.planning.budget import Budget
from streamshed.planning.plan import SheddingPlan
from streamshed.planning.scalability import check_scalable
from streamshed.planning.uniform import plan_uniform
from streamshed.statistics.forecast import Statistics

Planner = Callable[[QueryNetwork, Statistics, Budget], SheddingPlan]


@dataclass(frozen=True, slots=True)
class Policy:
    """A way to shed.

    Args:
        name: How a user asks for it.
        plan: The planner, a pure function.
        check: Raises UnsheddableQueryError for a network with queries that the policy cannot answer.
    """

    name: str
    plan: Planner
    check: Callable[[QueryNetwork], None]


POLICIES: tuple[Policy, ...] = (Policy("uniform", plan_uniform, check_scalable),)
"""Simplest first: a policy further down needs more statistics than those above it."""


def policy_named(name: str) -> Policy:
    """Return a policy by its name.

    Raises:
        ValueError: There is none of that name.

    Example:
        >>> policy_named("uniform").plan.__name__
        'plan_uniform'
    """
    for policy in POLICIES:
        if policy.name == name:
            return policy
    names = [policy.name for policy in POLICIES]
    raise ValueError(f"unknown policy {name!r}, expected one of {', '.join(names)}{near_miss(name, names)}")
