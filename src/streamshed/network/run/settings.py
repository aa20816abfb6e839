"""How a network is run, wherever that is said: the settings of `start`, of a document's `run`, of the command line."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, TypeAlias

from streamshed.elasticity.settings import ElasticSettings
from streamshed.elasticity.thresholds import SHED_FROM
from streamshed.errors import InvalidNetworkError, Problem
from streamshed.network.run import forms
from streamshed.network.run.feed import Feed
from streamshed.network.run.load_prior import LoadPrior
from streamshed.network.run.policy_names import DEFAULT_POLICY, POLICY_NAMES
from streamshed.network.run.setting import setting, value_problems
from streamshed.network.words.byte_size import parse_byte_size
from streamshed.network.words.duration import format_duration, parse_duration
from streamshed.network.words.schema_forms import by_name, reference
from streamshed.network.words.state_families import STATE_FAMILIES

Unscalable: TypeAlias = Literal["refuse", "keep"]

_ROUNDING = 1e-9
_HOEFFDING = "hoeffding"


def _duration(example: str) -> forms.Form:
    return forms.measure("duration", example, parse_duration, least="longer than nothing")


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings that `start`, documents and the command line have in common.

    Durations and sizes are texts, as they were written; the properties tell them as numbers.

    Raises:
        InvalidNetworkError: Listing all that is wrong; the `element` of a problem is the setting.

    Example:
        >>> Settings(trigger="5 seconds", latency="4 seconds")
        Traceback (most recent call last):
        streamshed.errors.InvalidNetworkError: the latency must be longer than the trigger of 5 seconds,
        because a row may wait that long for its micro-batch, got 4 seconds
        >>> Settings(headroom=1.5, policy="unifrom")
        Traceback (most recent call last):
        streamshed.errors.InvalidNetworkError: 2 problems:
          the headroom must be more than 0 and at most 1, got 1.5
          the policy must be one of uniform, hoeffding, least_error, equal_error, got 'unifrom' (did you mean ...?)
    """

    trigger: str = setting("2 seconds", "How often a micro-batch should start.", _duration("2 seconds"))
    latency: str | None = setting(
        None,
        "The goal from a row's arrival to its answer, longer than the trigger.",
        _duration("5 seconds"),
        unless="two triggers",
    )
    larger_micro_batches: bool = setting(
        False,
        "Let micro-batches take longer than the trigger, up to half of `latency`, before rows are shed.",
        forms.flag(),
    )
    prior: LoadPrior | None = setting(
        None,
        "A first guess of costs, used until they are measured.",
        forms.instance(LoadPrior, reference("prior")),
        unless="values from small machines",
    )
    headroom: float = setting(
        SHED_FROM,
        "The share of the available time that a plan may fill. Smaller values shed earlier; 1 leaves no reserve.",
        forms.number(exclusiveMinimum=0, maximum=1),
    )
    policy: str = setting(
        DEFAULT_POLICY, "How queries share the rows that there is time for.", forms.choice(*POLICY_NAMES)
    )
    fudge: float = setting(
        0.0,
        "Only for policy `hoeffding`: how little it trusts the statistics. 0: fully; the larger, the more alike all"
        " sampling rates.",
        forms.number(minimum=0),
    )
    advisory: bool = setting(False, "Make and record plans, but shed nothing.", forms.flag())
    unscalable: Unscalable = setting(
        "refuse",
        "What happens to approximate queries that a sample cannot answer: `refuse` stops the start, `keep` keeps all"
        " their rows.",
        forms.choice("refuse", "keep"),
    )
    confidence: float = setting(
        0.95,
        "Probability that error bounds hold; 1 − δ of policy `hoeffding`.",
        forms.number(exclusiveMinimum=0, exclusiveMaximum=1),
    )
    state_limit: str | None = setting(
        None,
        "The most that state may take. Near it, queries in mode `subset` drop windows.",
        forms.measure("size", "2 GiB", parse_byte_size, least="more than nothing"),
        unless="no limit",
    )
    set_aside_limit: str = setting(
        "1 GiB",
        "The most that unreadable rows may take on disk. Beyond it the oldest are deleted, and counted.",
        forms.measure("size", "1 GiB", parse_byte_size, least="more than nothing"),
    )
    max_age: str | None = setting(
        None,
        "During a backlog, rows that are this much older than the newest are skipped; their windows are gaps.",
        _duration("5 minutes"),
        unless="any age",
    )
    partitions: int | None = setting(
        None,
        "State partitions per stage. Only for a new checkpoint.",
        forms.whole_number(minimum=1),
        unless="as many as cores; with `elastic` its `partitions`, else the cores of `most` workers",
    )
    reserve: Sequence[str] = setting(
        (),
        "State families that queries added later may need. Only for a new checkpoint.",
        forms.names("state family", *STATE_FAMILIES),
        unless="none",
    )
    elastic: ElasticSettings | None = setting(
        None,
        "How the run adds and releases workers (executors).",
        forms.instance(ElasticSettings, reference("elastic")),
        unless="none: the number of workers stays",
    )
    worker_patience: str = setting(
        "2 minutes",
        "How long the run waits while it has work but no executor, at the start or later. Then it fails.",
        _duration("2 minutes"),
    )
    fault_patience: str = setting(
        "10 minutes",
        "How long the run keeps restarting from its checkpoint if a server, such as a broker, does not answer. Then it"
        " fails.",
        _duration("10 minutes"),
    )
    publish_needs: str | os.PathLike[str] | None = setting(
        None,
        "A file in which the run says which rows it needs. Networks that feed its streams can shed the rest.",
        forms.path("out/needs.json"),
        unless="none",
    )
    feeds: Sequence[Feed] = setting(
        (),
        "Queries that are streams of other networks, and the files in which those publish their needs.",
        forms.instances(Feed, by_name("Queries that are streams of other networks, by query.", reference("feed"))),
        unless="none",
    )
    host: str = setting(
        "127.0.0.1",
        "Address of the driver from which executors fetch plans.",
        forms.text("127.0.0.1"),
    )
    port: int = setting(0, "Port of `host`; 0: any free one.", forms.whole_number(minimum=0, maximum=65535))

    def __post_init__(self) -> None:
        problems = [*value_problems(self)]
        problems += self._joint_problems(frozenset(problem.element for problem in problems))
        if problems:
            raise InvalidNetworkError(*problems)

    @property
    def trigger_seconds(self) -> float:
        """How often a micro-batch should start."""
        return parse_duration(self.trigger) / 1e6

    @property
    def latency_seconds(self) -> float | None:
        """The goal from a row's arrival to its answer; None: two triggers."""
        return None if self.latency is None else parse_duration(self.latency) / 1e6

    @property
    def state_limit_bytes(self) -> int | None:
        """How much state may take; None: as much as there is."""
        return None if self.state_limit is None else parse_byte_size(self.state_limit)

    @property
    def set_aside_limit_bytes(self) -> int:
        """How much the files of unreadable rows may take."""
        return parse_byte_size(self.set_aside_limit)

    @property
    def max_age_microseconds(self) -> int | None:
        """How old rows may be while there is a backlog; None: any age."""
        return None if self.max_age is None else parse_duration(self.max_age)

    @property
    def worker_patience_seconds(self) -> float:
        """How long there may be work and no worker."""
        return parse_duration(self.worker_patience) / 1e6

    @property
    def fault_patience_seconds(self) -> float:
        """How long a fault that passes is waited out."""
        return parse_duration(self.fault_patience) / 1e6

    def common(self) -> dict[str, Any]:
        """Return the settings that all have in common, by name."""
        return {one.name: getattr(self, one.name) for one in fields(Settings)}

    def _joint_problems(self, wrong: frozenset[str]) -> Iterator[Problem]:
        """Tell what does not go together, but for settings that are wrong by themselves."""
        if self.latency is not None and wrong.isdisjoint({"trigger", "latency"}):
            yield from self._latency_problems(parse_duration(self.trigger), parse_duration(self.latency))
        if self.max_age is not None and wrong.isdisjoint({"trigger", "latency", "max_age"}):
            yield from self._age_problems(parse_duration(self.max_age))
        if wrong.isdisjoint({"policy", "fudge"}):
            yield from fudge_problems(self.policy, self.fudge)
        if self.elastic is not None and wrong.isdisjoint({"elastic", "headroom"}):
            yield from self._threshold_problems(self.elastic.thresholds.shed)

    def _latency_problems(self, trigger: int, latency: int) -> Iterator[Problem]:
        if latency <= trigger:
            says = (
                f"the latency must be longer than the trigger of {format_duration(trigger)}, because a row may wait"
                " that long for its micro-batch"
            )
            yield Problem(says, "latency", got=format_duration(latency))

    def _age_problems(self, max_age: int) -> Iterator[Problem]:
        goal = 2 * parse_duration(self.trigger) if self.latency is None else parse_duration(self.latency)
        if max_age <= goal:
            says = (
                f"max_age must be longer than the latency of {format_duration(goal)}, because rows that are answered"
                " in time are no backlog"
            )
            yield Problem(says, "max_age", got=format_duration(max_age))

    def _threshold_problems(self, shed: float) -> Iterator[Problem]:
        if shed > self.headroom + _ROUNDING:
            yield Problem(
                f"load is shed from the headroom of {self.headroom:g} on, but workers are added for it only beyond the"
                f" threshold shed of elastic, {shed:g}: set shed to the headroom",
                "elastic",
            )


def fudge_problems(policy: str, fudge: float) -> Iterator[Problem]:
    """Tell if a policy does nothing with a fudge."""
    if fudge and policy != _HOEFFDING:
        yield Problem(
            f"fudge is added to the C of each query by the policy {_HOEFFDING}, but the policy is {policy}: leave fudge"
            f" out, or write policy: {_HOEFFDING}?",
            "fudge",
        )
