"""How a network is to be run: what the `run` part of a document says."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from streamshed.elasticity.settings import ElasticSettings
from streamshed.errors import InvalidNetworkError, Problem
from streamshed.network.run.feed import Feed
from streamshed.network.run.prediction_settings import PredictionSettings
from streamshed.network.words.duration import format_duration
from streamshed.network.words.policy_names import DEFAULT_POLICY

Unscalable: TypeAlias = Literal["refuse", "keep"]

_ROUNDING = 1e-9
_HOEFFDING = "hoeffding"


@dataclass(frozen=True, slots=True)
class ConsoleSink:
    """Answers are printed."""


@dataclass(frozen=True, slots=True)
class ParquetSink:
    """Answers are written as Parquet into the folder `path`."""

    path: str


@dataclass(frozen=True, slots=True)
class MemorySink:
    """Answers are kept in memory as the table `name`."""

    name: str


Sink: TypeAlias = ConsoleSink | ParquetSink | MemorySink


_SINK_NAMES = {ConsoleSink: "console", MemorySink: "memory"}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSettings:
    """How a network is to be run.

    Attributes:
        trigger_microseconds: How often a micro-batch should start, more than 0.
        latency_microseconds: The goal from a row's arrival to its answer, more than the trigger; None: two
            triggers.
        headroom: The share of the time that a plan may fill, in (0, 1].
        policy: How load is shed, by name.
        fudge: What the policy hoeffding adds to the C of every query, at least 0; with others 0.
        statistics: A JSON file of what is known of the network before it runs; None: nothing is.
        checkpoint: The checkpoint's folder; None: a run starts anew.
        sink: Where answers go.
        advisory: Plan, but shed nothing.
        unscalable: What to do about approximate queries that the policy cannot answer: "refuse" them before
            anything runs, or "keep" all of their rows.
        confidence: How sure error bounds are, 1 − δ in (0, 1); the policy hoeffding goes by the same.
        state_limit_bytes: How much state may take, more than 0, before queries that tolerate gaps make room; None: as
            much as there is.
        elastic: How workers are added and released; None: their number is not changed.
        publish_needs: The file in which it is told what is needed of the network's streams; None: that is not told.
        feeds: Queries for rows that are streams of other networks, one for each.
        predictions: Where it is written what dropped windows would have been answered, once later ones are; with a sink
            of Parquet. None: that is not predicted.

    Raises:
        InvalidNetworkError: Listing all that is wrong.

    Example:
        >>> RunSettings(trigger_microseconds=5_000_000, latency_microseconds=4_000_000)
        Traceback (most recent call last):
        streamshed.errors.InvalidNetworkError: the latency must be longer than the trigger of 5 seconds,
        because a row may wait that long for its micro-batch, got 4 seconds
    """

    trigger_microseconds: int = 2_000_000
    latency_microseconds: int | None = None
    headroom: float = 0.8
    policy: str = DEFAULT_POLICY
    fudge: float = 0.0
    statistics: str | None = None
    checkpoint: str | None = None
    sink: Sink = ConsoleSink()
    advisory: bool = False
    unscalable: Unscalable = "refuse"
    confidence: float = 0.95
    state_limit_bytes: int | None = None
    elastic: ElasticSettings | None = None
    publish_needs: str | None = None
    feeds: tuple[Feed, ...] = ()
    predictions: PredictionSettings | None = None

    def __post_init__(self) -> None:
        problems: list[str] = []
        trigger, latency = self.trigger_microseconds, self.latency_microseconds
        if trigger <= 0:
            problems.append(Problem("the trigger must be longer than nothing", got=f"{trigger} microseconds"))
        elif latency is not None and latency <= trigger:
            says = (
                f"the latency must be longer than the trigger of {format_duration(trigger)}, because a row may wait"
                " that long for its micro-batch"
            )
            problems.append(Problem(says, got=format_duration(max(latency, 0))))
        if not 0 < self.headroom <= 1:
            problems.append(f"the headroom must be more than 0 and at most 1, got {self.headroom}")
        if not 0 < self.confidence < 1:
            problems.append(f"the confidence must be between 0 and 1, got {self.confidence}")
        problems += self._fudge_problems()
        if self.state_limit_bytes is not None and self.state_limit_bytes <= 0:
            problems.append(Problem("the state limit must be more than nothing", got=f"{self.state_limit_bytes} bytes"))
        if self.unscalable not in {"refuse", "keep"}:
            problems.append(f'unscalable is "refuse" or "keep", got {self.unscalable!r}')
        if self.elastic is not None and self.elastic.thresholds.shed > self.headroom + _ROUNDING:
            problems.append(
                f"load is shed from the headroom of {self.headroom:g} on, but workers are added for it only beyond the"
                f" threshold shed of elastic, {self.elastic.thresholds.shed:g}: set shed to the headroom"
            )
        if self.predictions is not None and not isinstance(self.sink, ParquetSink):
            problems.append(
                f"predictions go to {self.predictions.path}, but they are made from answers in Parquet, and the sink is"
                f" {_SINK_NAMES[type(self.sink)]}: choose a sink of Parquet, or leave predictions out"
            )
        if problems:
            raise InvalidNetworkError(*problems)

    def _fudge_problems(self) -> Iterator[str]:
        if not 0 <= self.fudge < math.inf:
            yield Problem("fudge is added to the C of each query, finite and at least 0", got=str(self.fudge))
        elif self.fudge and self.policy != _HOEFFDING:
            yield (
                f"fudge is added to the C of each query by the policy {_HOEFFDING}, but the policy is {self.policy}:"
                f" leave fudge out, or write policy: {_HOEFFDING}?"
            )
