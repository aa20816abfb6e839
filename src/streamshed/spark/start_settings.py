"""The settings of `start` beside network, session, checkpoint and sink, checked at once before anything runs."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from streamshed.control.settings import ControlSettings, Unscalable
from streamshed.control.shed_rule import shed_rule
from streamshed.elasticity.settings import ElasticSettings
from streamshed.errors import InvalidNetworkError, near_miss
from streamshed.network.run.feed import Feed
from streamshed.network.run.run_settings import RunSettings
from streamshed.network.words.byte_size import parse_byte_size
from streamshed.network.words.document_problem import problems_of
from streamshed.network.words.duration import parse_duration
from streamshed.network.words.given import given_names, is_a, is_filled_text, is_number, is_whole_number
from streamshed.network.words.policy_names import DEFAULT_POLICY, POLICY_NAMES
from streamshed.planning.rates.rate_policies import RATE_POLICIES
from streamshed.spark.checkpoint.state_layout import FAMILIES
from streamshed.statistics.load_prior import LoadPrior
from streamshed.statistics.network_statistics import NetworkStatistics

_HIGHEST_PORT = 65535


@dataclass(frozen=True, slots=True, kw_only=True)
class StartSettings:
    """The settings of `streamshed.spark.start`, by its keywords.

    Raises:
        InvalidNetworkError: Listing all that is wrong.

    Example:
        >>> StartSettings(headroom=1.5, policy="unifrom")
        Traceback (most recent call last):
        streamshed.errors.InvalidNetworkError: 2 problems:
          the headroom must be more than 0 and at most 1, got 1.5
          no policy "unifrom", known are: uniform, hoeffding, least_error, equal_error (did you mean "uniform"?)
    """

    trigger: str = "2 seconds"
    latency: str | None = None
    larger_micro_batches: bool = False
    prior: LoadPrior | None = None
    headroom: float = 0.8
    policy: str = DEFAULT_POLICY
    fudge: float = 0.0
    statistics: NetworkStatistics | None = None
    advisory: bool = False
    unscalable: Unscalable = "refuse"
    confidence: float = 0.95
    state_limit: str | None = None
    partitions: int | None = None
    reserve: Sequence[str] = ()
    elastic: ElasticSettings | None = None
    worker_patience: str = "2 minutes"
    publish_needs: str | os.PathLike[str] | None = None
    feeds: Sequence[Feed] = ()
    host: str = "127.0.0.1"
    port: int = 0

    def __post_init__(self) -> None:
        problems = [
            *_type_problems(self),
            *_goal_problems(self),
            *_policy_problems(self),
            *_name_problems(self),
            *_place_problems(self),
        ]
        if problems:
            raise InvalidNetworkError(*problems)

    @property
    def worker_patience_seconds(self) -> float:
        """How long there may be work and no worker."""
        return parse_duration(self.worker_patience) / 1e6

    def control(self, domains: int) -> ControlSettings:
        """Return what the control loop of one of several time domains is asked; state they share evenly."""
        return ControlSettings(
            trigger_interval_seconds=parse_duration(self.trigger) / 1e6,
            latency_seconds=None if self.latency is None else parse_duration(self.latency) / 1e6,
            larger_micro_batches=self.larger_micro_batches,
            prior=self.prior or LoadPrior(),
            statistics=self.statistics,
            headroom=self.headroom,
            policy=self.policy,
            confidence=self.confidence,
            fudge=self.fudge,
            advisory=self.advisory,
            unscalable=self.unscalable,
            state_limit_bytes=None if self.state_limit is None else parse_byte_size(self.state_limit) // domains,
            shed_rule=shed_rule(self.elastic),
        )


def _type_problems(settings: StartSettings) -> Iterator[str]:
    for name in ("larger_micro_batches", "advisory"):
        if not is_a(getattr(settings, name), bool):
            yield f"{name} must be True or False, got {getattr(settings, name)!r}"
    for name in ("headroom", "confidence", "fudge"):
        if not is_number(getattr(settings, name)):
            yield f"the {name} must be a number, got {getattr(settings, name)!r}"
    if not (settings.prior is None or is_a(settings.prior, LoadPrior)):
        yield f"the prior must be a LoadPrior(...), got {settings.prior!r}"
    if not (settings.statistics is None or is_a(settings.statistics, NetworkStatistics)):
        yield f"the statistics must be a NetworkStatistics(...), got {settings.statistics!r}"
    if not all(is_a(feed, Feed) for feed in settings.feeds):
        yield f"feeds are Feed(...) values, got {list(settings.feeds)!r}"
    if not (settings.elastic is None or is_a(settings.elastic, ElasticSettings)):
        yield f"elastic must be an ElasticSettings(...), got {settings.elastic!r}"


def _goal_problems(settings: StartSettings) -> Iterator[str]:
    """What is wrong with settings that documents have, too, in the same words."""
    try:
        if parse_duration(settings.worker_patience) <= 0:
            yield f"the worker_patience must be longer than nothing, got {settings.worker_patience!r}"
    except InvalidNetworkError as error:
        yield from (f"the worker_patience: {problem}" for problem in error.problems)
    goals: dict[str, Any] = {
        name: value for name in ("headroom", "confidence") if is_number(value := getattr(settings, name))
    }
    for name in ("trigger", "latency"):
        text = getattr(settings, name)
        if text is None and name == "latency":
            continue
        try:
            goals[f"{name}_microseconds"] = parse_duration(text)
        except InvalidNetworkError as error:
            yield from (f"the {name}: {problem}" for problem in error.problems)
    if settings.state_limit is not None:
        try:
            goals["state_limit_bytes"] = parse_byte_size(settings.state_limit)
        except InvalidNetworkError as error:
            yield from (f"the state_limit: {problem}" for problem in error.problems)
    if is_a(settings.elastic, ElasticSettings):
        goals["elastic"] = settings.elastic
    if "trigger_microseconds" not in goals:
        goals.pop("latency_microseconds", None)
    yield from problems_of(lambda: RunSettings(**goals))


def _policy_problems(settings: StartSettings) -> Iterator[str]:
    yield from _unknown("policy", settings.policy, POLICY_NAMES)
    if settings.policy in RATE_POLICIES and is_number(settings.fudge):
        yield from problems_of(lambda: RunSettings(policy=settings.policy, fudge=settings.fudge))


def _name_problems(settings: StartSettings) -> Iterator[str]:
    choices = get_args(Unscalable)
    if settings.unscalable not in choices:
        question = near_miss(str(settings.unscalable), choices)
        yield f'unscalable is "refuse" or "keep", got {settings.unscalable!r}{question}'
    try:
        families = given_names("reserve", settings.reserve)
    except InvalidNetworkError as error:
        yield from error.problems
        return
    for family in families:
        yield from _unknown("state family", family, FAMILIES)


def _unknown(kind: str, name: object, valid_names: Collection[str]) -> Iterator[str]:
    if name not in valid_names:
        yield f'no {kind} "{name}", known are: {", ".join(valid_names)}{near_miss(str(name), valid_names)}'


def _place_problems(settings: StartSettings) -> Iterator[str]:
    if not (settings.publish_needs is None or is_a(settings.publish_needs, str, os.PathLike)):
        yield f'needs are published at a path or URI, such as "out/needs.json", got {settings.publish_needs!r}'
    if settings.partitions is not None and not is_whole_number(settings.partitions, at_least=1):
        yield f"partitions must be a whole number of at least 1, got {settings.partitions!r}"
    if not is_filled_text(settings.host):
        yield f'the host is an address such as "127.0.0.1", got {settings.host!r}'
    if not is_whole_number(settings.port, at_least=0) or settings.port > _HIGHEST_PORT:
        yield f"the port must be a whole number from 0 to {_HIGHEST_PORT}, got {settings.port!r}"
