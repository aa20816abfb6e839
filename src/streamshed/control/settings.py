"""What the user asks of the control loop."""

import math
from dataclasses import dataclass, field, replace
from typing import Any, Self

from streamshed.control.hysteresis import HysteresisSettings
from streamshed.control.regulator import RegulatorSettings
from streamshed.control.shed_rule import ShedRule, shed_rule
from streamshed.errors import InvalidNetworkError
from streamshed.network.model.network import QueryNetwork
from streamshed.network.run.load_prior import LoadPrior
from streamshed.network.run.setting import settings_of, shared, value_problems
from streamshed.network.run.settings import Settings, Unscalable, fudge_problems
from streamshed.planning.plan.budget import deadline_for
from streamshed.planning.plan.policies import Policy, policy_named
from streamshed.planning.rates.hoeffding import HoeffdingSettings
from streamshed.statistics.network_statistics import NetworkStatistics


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlSettings:
    """Goals and limits of the control loop.

    Args:
        trigger_interval_seconds: How often a micro-batch should start.
        latency_seconds: The goal for the time from a row's arrival to its answer. A row waits for at most one
            trigger interval before its micro-batch starts, so the goal must be longer than that. By default
            two trigger intervals.
        headroom: The share of the time that a plan may fill, in (0, 1]; the rest is for noise.
        policy: How to shed, one of `planning.policies.POLICIES`.
        confidence: Of the bounds of answers, 1 − δ in (0, 1): the policy `hoeffding` goes by it.
        fudge: What that policy adds to the C of every query, against statistics that may be wrong; with others 0.
        advisory: Plan, but apply nothing.
        unscalable: What to do about approximate queries that the policy cannot answer: `refuse` them before
            anything runs, or `keep` them from being shed.
        larger_micro_batches: Let a micro-batch take longer than the trigger interval, as far as the latency
            goal allows, before anything is shed.
        prior: What is believed of costs until they were measured.
        shed_rule: The share of the time that a plan may fill, by how much is offered; None: it is the headroom.
        state_limit_bytes: How much state may take before queries that tolerate gaps make room; None: as much as there
            is.
        max_age_microseconds: How old rows may be, by event time, while there is a backlog: older ones are skipped;
            None: any age.
        statistics: What is known of operators and queries; None: a guess.
        regulator: Gains of the feedback.
        hysteresis: When shedding begins and ends.

    Raises:
        ValueError: A setting is out of range.

    Example:
        >>> ControlSettings(trigger_interval_seconds=2.0).deadline_seconds
        2.0
        >>> ControlSettings(trigger_interval_seconds=2.0, latency_seconds=3.0).deadline_seconds
        1.0
        >>> ControlSettings(
        ...     trigger_interval_seconds=2.0, latency_seconds=10.0, larger_micro_batches=True
        ... ).deadline_seconds
        5.0
    """

    trigger_interval_seconds: float
    latency_seconds: float | None = None
    headroom: float = shared(Settings, "headroom")
    policy: str = shared(Settings, "policy")
    confidence: float = shared(Settings, "confidence")
    fudge: float = shared(Settings, "fudge")
    advisory: bool = shared(Settings, "advisory")
    unscalable: Unscalable = shared(Settings, "unscalable")
    larger_micro_batches: bool = shared(Settings, "larger_micro_batches")
    prior: LoadPrior = field(default_factory=LoadPrior)
    shed_rule: ShedRule | None = None
    state_limit_bytes: int | None = None
    max_age_microseconds: int | None = None
    statistics: NetworkStatistics | None = None
    regulator: RegulatorSettings = field(default_factory=RegulatorSettings)
    hysteresis: HysteresisSettings = field(default_factory=HysteresisSettings)

    def __post_init__(self) -> None:
        if not (math.isfinite(self.trigger_interval_seconds) and self.trigger_interval_seconds > 0):
            raise ValueError(
                f"trigger_interval_seconds must be positive and finite, got {self.trigger_interval_seconds}"
            )
        if problems := [*value_problems(self)] or [*fudge_problems(self.policy, self.fudge)]:
            raise InvalidNetworkError(*problems)
        if not self.latency_goal_seconds > self.trigger_interval_seconds:
            raise ValueError(
                f"latency_seconds must be longer than the trigger interval of"
                f" {self.trigger_interval_seconds} s, because a row may wait that long for its micro-batch;"
                f" got {self.latency_seconds}"
            )
        if self.state_limit_bytes is not None and self.state_limit_bytes <= 0:
            raise ValueError(f"state_limit_bytes must be more than 0, got {self.state_limit_bytes}")
        if self.max_age_microseconds is not None and self.max_age_microseconds <= 0:
            raise ValueError(f"max_age_microseconds must be more than 0, got {self.max_age_microseconds}")
        _ = self.shedding_policy

    @classmethod
    def of(cls, settings: Settings, **more: Any) -> Self:
        """Return what is asked of the control loop of a time domain, by the settings of its run.

        Args:
            settings: Those of the run.
            **more: What they do not tell, or what is asked instead, by the names of the arguments.
        """
        said = {
            "trigger_interval_seconds": settings.trigger_seconds,
            "latency_seconds": settings.latency_seconds,
            **{name: getattr(settings, name) for name in settings_of(cls)},
            "prior": settings.prior or LoadPrior(),
            "shed_rule": shed_rule(settings.elastic),
            "state_limit_bytes": settings.state_limit_bytes,
            "max_age_microseconds": settings.max_age_microseconds,
        }
        return cls(**said | more)

    def for_network(self, network: QueryNetwork) -> Self:
        """Return the same for a network whose queries have latency goals of their own: the least goal holds.

        Raises:
            InvalidNetworkError: Goals are not longer than the trigger interval.
        """
        problems = [query.latency_problem(self.trigger_interval_seconds) for query in network.queries]
        if any(problems):
            raise InvalidNetworkError(*filter(None, problems))
        least = network.latency_seconds
        return self if least is None else replace(self, latency_seconds=min(least, self.latency_goal_seconds))

    @property
    def hoeffding(self) -> HoeffdingSettings:
        """Settings of the policy of that name."""
        return HoeffdingSettings(exceeded_share=1 - self.confidence, fudge=self.fudge)

    @property
    def shedding_policy(self) -> Policy:
        """How to shed."""
        return policy_named(self.policy, self.hoeffding)

    @property
    def latency_goal_seconds(self) -> float:
        """The latency goal, given or by default."""
        return 2 * self.trigger_interval_seconds if self.latency_seconds is None else self.latency_seconds

    @property
    def deadline_seconds(self) -> float:
        """How long a micro-batch may take: `deadline_for` the goal, beyond the trigger interval only if it may."""
        longest = deadline_for(self.trigger_interval_seconds, self.latency_seconds)
        return longest if self.larger_micro_batches else min(longest, self.trigger_interval_seconds)
