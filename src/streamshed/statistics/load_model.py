"""What a micro-batch costs: a model learned from the micro-batches that were measured."""

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import astuple, dataclass, field, replace
from types import MappingProxyType

import numpy as np

from streamshed.network.run.load_prior import LoadPrior
from streamshed.statistics.load_fit import (
    Evidence,
    Fit,
    PriorBelief,
    Vector,
    covariance,
    dear_work,
    fitted,
    unexplained,
)
from streamshed.statistics.load_memory import (
    RECENT,
    Memory,
    Observation,
    aged,
    at_speedup,
    releveled,
    remembered,
    translated,
)
from streamshed.statistics.micro_batch import MicroBatchOutcome
from streamshed.statistics.task_costs import NOT_TIMED, TaskCost, TaskCosts

NOISE_DEVIATION = 0.1
"""How far a micro-batch ordinarily is off a perfect prediction: ±10 %."""

PRIOR_DEVIATIONS = (0.8, 1.0, 3.0)
"""How far off the prior may be: ln of the fixed cost, of reading a row, of the work on it.

What is fixed, and what reading takes, is Spark's and the machine's, and differs little from network to network: 0.2 to
2 s, and a fraction of a microsecond. Work is the user's, and may take anything, though rather more than less.
"""

MEASURED_DEVIATIONS = (0.2, 0.4, 0.25)
"""The same of a prior that was measured."""

TASK_DEVIATION = 0.3
"""The same of what a row costs by the clocks of the tasks that read it: Spark has work with what they return, too."""

TIMED_SECONDS, TIMED_DEVIATION = 1e-6, 1.0
"""What a unit of work takes of streams whose rows are counted by the time that their work was seen to take, and how far
off that may be in ln: as each is a microsecond, whatever rows of others take."""

OUTLIER = 12.0
"""A micro-batch that can only be explained by so much more of `Fit.cost` is suspicious: as one four deviations off."""

POOR_COST = 4.0
"""A fit that leaves more unexplained than this is tried again from elsewhere."""

PLAUSIBLE = 2.0
"""Costs up to so many deviations off the likeliest may be true."""

NO_FUNCTIONS: Mapping[str, float] = MappingProxyType({})
"""No user function and no SQL was timed."""


@dataclass(frozen=True, slots=True)
class LoadModel:
    """Predicts the seconds of a micro-batch from its rows and its sampling rates.

    With n_s rows offered by stream s and kept at sampling rate P_s:

        seconds = fixed_seconds + Σ_s n_s · (read_seconds_per_row_s + work_seconds_per_row_s · P_s)

    The coefficients are fitted to the micro-batches in memory and to the prior (`load_fit`). Where tasks read the rows
    of a stream themselves, their clocks take the place of the prior. Micro-batches of the same rows and rates tell only
    the sum, and of what it is made up the prior decides, and what user functions were measured to take: what is dearer
    than believed is rather work than fixed or reading. The first micro-batch of other rows or rates tells more. That it
    is off its prediction makes it no outlier, as long as other costs explain it together with all that is remembered.

    An outlier is what none explain. A single one moves nothing, and displaces nothing from memory: a machine has its
    hiccups, and answers are not given up for one. A second one in a row on the same side is no accident: the level of
    all costs has changed. Nor is one that comes soon after another; it is learned from like any other micro-batch.

    A micro-batch without rows is spared much that even the first row costs, such as a user function's process. So what
    it took is no fixed cost of others, and is forgotten soon (`load_memory`).

    Recursive least squares was tried first. In seconds it collapses when the prior is too dear, for normal
    beliefs know no positive costs; in logarithms it forgets that a calm load bounded the fixed cost, and may
    settle on a wrong split of fixed, read and work for good.

    Build one with `LoadModel.initial`.

    Args:
        streams: The streams it knows, sorted.
        prior: What it was built from.
        timed: Those of them whose rows are counted in units of `TIMED_SECONDS`: joins.
        mean: ln fixed seconds, then per stream ln seconds to read a row, then per stream ln seconds of work on it.
        tasks: What a row costs of streams whose tasks were timed.
        memory: What it was fitted to.
        suspicion: +1 or −1 after a micro-batch that took much longer or shorter than predicted, else 0.
        suspect: The last micro-batch, if it was an outlier that nothing was learned from: only if the next one is
            another, on the same side, is it remembered.
        disregarded: How many micro-batches ago there was a suspect.

    Example:
        >>> model = LoadModel.initial(["packets"], LoadPrior(fixed_seconds=0.5, seconds_per_row=1e-6))
        >>> round(model.seconds({"packets": 1_000_000}, {}), 6)
        1.5
        >>> round(model.seconds({"packets": 1_000_000}, {"packets": 0.2}), 6)
        0.9
    """

    streams: tuple[str, ...]
    prior: LoadPrior
    mean: tuple[float, ...]
    timed: AbstractSet[str] = frozenset()
    tasks: TaskCosts = field(default_factory=dict)
    memory: Memory = ()
    suspicion: int = 0
    suspect: Observation | None = None
    disregarded: int = RECENT

    @classmethod
    def initial(
        cls,
        streams: Sequence[str],
        prior: LoadPrior,
        timed: AbstractSet[str] = frozenset(),
        functions: Mapping[str, float] = NO_FUNCTIONS,
    ) -> "LoadModel":
        """Build a model of `streams` that has seen no micro-batch.

        Args:
            streams: Their names.
            prior: What is believed of them.
            timed: Those of them that are timed.
            functions: As in `updated`, what was measured of the work on their rows.
        """
        names = tuple(sorted(streams))
        return cls(names, prior, _frozen(_belief(names, prior, timed, functions).mean), timed)

    @property
    def fixed_seconds(self) -> float:
        """What a micro-batch costs without any row."""
        return math.exp(self.mean[0])

    def read_seconds_per_row(self, stream: str) -> float:
        """Return what a row of `stream` costs even when the sampler drops it."""
        return math.exp(self.mean[1 + self._position(stream)])

    def work_seconds_per_row(self, stream: str) -> float:
        """Return what a row of `stream` costs on top when it is kept."""
        return math.exp(self.mean[1 + len(self.streams) + self._position(stream)])

    def row_deviation(self, stream: str) -> float:
        """Return how far off what a row of `stream` costs may be: the standard deviation of ln(seconds per row).

        As far as the prior where micro-batches tell nothing of it, because they are alike, or rows take next to nothing
        of them. Where they contradict each other, as while code is still being compiled, it is larger accordingly.
        """
        prior, mean, place = self._belief(), np.array(self.mean), self._position(stream)
        evidence, places = _evidence(self.memory, prior.streams), [1 + place, 1 + prior.streams + place]
        costs = np.exp(mean[places])
        shares, least = costs / costs.sum(), unexplained(mean, evidence, prior)
        variance = float(shares @ covariance(mean, evidence, prior)[np.ix_(places, places)] @ shares)
        contradiction = max(1.0, least / max(1, len(self.memory)))
        # What is fixed and what is the rows' may be exchanged for each other over a range in which nothing is linear.
        fits = (_fit(self.memory, each, mean) for each in _with_fixed_costs(prior))
        plausible = (fit.mean for fit in fits if unexplained(fit.mean, evidence, prior) < least + PLAUSIBLE**2)
        others = (abs(math.log(np.exp(each[places]).sum() / costs.sum())) / PLAUSIBLE for each in plausible)
        return max([math.sqrt(variance * contradiction), *others])

    def seconds(self, offered_rows: Mapping[str, float], sampling_rates: Mapping[str, float]) -> float:
        """Predict how long a micro-batch takes.

        Args:
            offered_rows: Its rows by stream; a stream left out has none.
            sampling_rates: What each stream's sampler keeps; a stream left out is kept whole.

        Raises:
            ValueError: A stream is unknown.
        """
        return self.fixed_seconds + sum(
            rows
            * (self.read_seconds_per_row(stream) + self.work_seconds_per_row(stream) * sampling_rates.get(stream, 1.0))
            for stream, rows in offered_rows.items()
        )

    def updated(
        self,
        outcome: MicroBatchOutcome,
        functions: Mapping[str, float] = NO_FUNCTIONS,
        tasks: TaskCosts = NOT_TIMED,
    ) -> "LoadModel":
        """Learn from one measured micro-batch.

        Args:
            outcome: How long it took for which rows.
            functions: Measured seconds of user functions and SQL per row, by stream; not known of streams left out.
                Work on a row is believed to take at least so long, whatever the prior says.
            tasks: What a row costs by the clocks of tasks, by stream; not known of streams left out.

        Raises:
            ValueError: It holds rows of an unknown stream.
        """
        observation = self._observed(outcome)
        error = observation.log_seconds - math.log(self.seconds(outcome.costed_rows, outcome.costed_shares))
        prior = _belief(self.streams, self.prior, self.timed, functions, tasks)
        mean, aged_memory = np.array(self.mean), aged(self.memory)
        fit = _fit((*aged_memory, observation), prior, mean)
        surprise = fit.cost - unexplained(mean, _evidence(aged_memory, prior.streams), prior)
        suspicion = int(math.copysign(1, error)) if surprise > OUTLIER else 0
        has_jumped = suspicion != 0 and suspicion == self.suspicion
        if suspicion != 0 and not has_jumped and self.disregarded >= RECENT:
            return replace(self, tasks=tasks, suspicion=suspicion, suspect=observation, disregarded=0)
        before = self._memory_until_now(is_confirmed=has_jumped)
        memory = remembered(releveled(before, error) if has_jumped else before, observation)
        return replace(
            self,
            mean=_frozen(_fit(memory, prior, fit.mean).mean),
            tasks=tasks,
            memory=memory,
            suspicion=suspicion,
            suspect=None,
            disregarded=RECENT if has_jumped else min(self.disregarded + 1, RECENT),
        )

    def with_speedups(self, speedup: Callable[[float], float], *, latest: float) -> "LoadModel":
        """Return what is known if workers were not as fast, or faster, than was thought.

        What is predicted on the latest ones stays as it was, for that was measured.

        Args:
            speedup: How many times faster than one they are, by what was thought.
            latest: What was thought of the latest ones.

        Example:
            >>> model = LoadModel.initial(["packets"], LoadPrior(fixed_seconds=0.5, seconds_per_row=1e-6))
            >>> half = model.with_speedups(lambda thought: thought / 2, latest=8.0)
            >>> [round(known.seconds({"packets": rows}, {}), 6) for known, rows in ((model, 125_000), (half, 250_000))]
            [0.625, 0.625]
        """
        mean = np.array(self.mean)
        mean[1:] += math.log(speedup(latest) / latest)
        return replace(
            self,
            mean=_frozen(mean),
            tasks={name: cost.times(speedup(latest) / latest) for name, cost in self.tasks.items()},
            memory=tuple(at_speedup(known, speedup(known.speedup)) for known in self.memory),
            suspect=None if self.suspect is None else at_speedup(self.suspect, speedup(self.suspect.speedup)),
        )

    @property
    def disregards_latest(self) -> bool:
        """Whether the latest micro-batch is an outlier that nothing was learned from."""
        return self.suspect is not None

    def to_json(self) -> str:
        """Write down what was learned, for `from_json`."""
        return json.dumps(
            {
                "streams": self.streams,
                "mean": self.mean,
                "tasks": dict(self.tasks),
                "memory": [astuple(known) for known in self.memory],
                "suspicion": self.suspicion,
                "suspect": None if self.suspect is None else astuple(self.suspect),
                "disregarded": self.disregarded,
            }
        )

    @classmethod
    def from_json(
        cls, text: str, *, streams: Sequence[str], prior: LoadPrior, timed: AbstractSet[str] = frozenset()
    ) -> "LoadModel":
        """Restore what `to_json` wrote.

        Args:
            text: What `to_json` returned.
            streams: The streams of the present network. If the text has other streams, the model is fitted again
                to those micro-batches in memory that held rows of present streams only.
            prior: What is believed without evidence.
            timed: As in `initial`.
        """
        document = json.loads(text)
        old_streams = tuple(document["streams"])
        memory = tuple(_observation(*fields) for fields in document["memory"])
        tasks = {name: TaskCost(*cost) for name, cost in document.get("tasks", {}).items() if name in streams}
        fresh = replace(cls.initial(streams, prior, timed), tasks=tasks)
        if fresh.streams != old_streams:
            return _refitted(fresh, translated(memory, old_streams, fresh.streams))
        return replace(
            fresh,
            mean=tuple(document["mean"]),
            memory=memory,
            suspicion=int(document["suspicion"]),
            suspect=None if document["suspect"] is None else _observation(*document["suspect"]),
            disregarded=int(document["disregarded"]),
        )

    def _belief(self) -> PriorBelief:
        return _belief(self.streams, self.prior, self.timed, NO_FUNCTIONS, self.tasks)

    def _memory_until_now(self, *, is_confirmed: bool) -> Memory:
        """Return what is remembered of all that was measured; of a suspect only where it is confirmed."""
        if self.suspect is None:
            return self.memory
        return remembered(self.memory, self.suspect) if is_confirmed else aged(self.memory)

    def _position(self, stream: str) -> int:
        if stream not in self.streams:
            raise ValueError(
                f"load model: unknown stream {stream!r}, known are {', '.join(self.streams)};"
                " was the model built for another network?"
            )
        return self.streams.index(stream)

    def _observed(self, outcome: MicroBatchOutcome) -> Observation:
        for stream in outcome.costed_rows:
            self._position(stream)
        rows, done = outcome.costed_rows, outcome.costed_shares
        return Observation(
            rows=tuple(float(rows.get(stream, 0)) for stream in self.streams),
            shares_done=tuple(done.get(stream, 1.0) for stream in self.streams),
            log_seconds=math.log(outcome.processing_seconds),
            speedup=outcome.speedup,
        )


def _observation(
    rows: Sequence[float], shares_done: Sequence[float], log_seconds: float, age: int, speedup: float = 1.0
) -> Observation:
    return Observation(tuple(rows), tuple(shares_done), log_seconds, age, speedup)


def _fit(memory: Memory, prior: PriorBelief, start: Vector) -> Fit:
    evidence = _evidence(memory, prior.streams)
    fit = fitted(evidence, prior, start)
    if fit.cost <= POOR_COST:
        return fit
    return min(fit, fitted(evidence, prior, dear_work(evidence, prior)), key=lambda either: either.cost)


def _evidence(memory: Memory, streams: int) -> Evidence:
    return Evidence(
        rows=np.array([known.rows for known in memory]).reshape(len(memory), streams),
        shares_done=np.array([known.shares_done for known in memory]).reshape(len(memory), streams),
        log_seconds=np.array([known.log_seconds for known in memory]),
        deviations=NOISE_DEVIATION / np.sqrt([known.weight for known in memory]),
    )


def _refitted(model: LoadModel, memory: Memory) -> LoadModel:
    if not memory:
        return model
    prior = _belief(model.streams, model.prior, model.timed, NO_FUNCTIONS, model.tasks)
    return replace(model, mean=_frozen(_fit(memory, prior, prior.mean).mean), memory=memory)


def _belief(
    streams: Sequence[str],
    prior: LoadPrior,
    timed: AbstractSet[str],
    functions: Mapping[str, float] = NO_FUNCTIONS,
    tasks: TaskCosts = NOT_TIMED,
) -> PriorBelief:
    unit = replace(prior, seconds_per_row=TIMED_SECONDS)
    fixed, read, worked = MEASURED_DEVIATIONS if prior.is_measured else PRIOR_DEVIATIONS
    costs, deviations = [], []
    for stream in streams:
        of_stream = unit if stream in timed else prior
        work = max(of_stream.work_seconds_per_row, functions.get(stream, 0.0))
        costs.append(tasks.get(stream, TaskCost(of_stream.read_seconds_per_row, work)))
        off = (TIMED_DEVIATION,) * 2 if stream in timed else (read, worked)
        deviations.append((TASK_DEVIATION,) * 2 if stream in tasks else off)
    return PriorBelief(
        mean=np.log([prior.fixed_seconds, *(cost[0] for cost in costs), *(cost[1] for cost in costs)]),
        deviations=np.array([fixed, *(of_read for of_read, _ in deviations), *(of_work for _, of_work in deviations)]),
    )


def _with_fixed_costs(prior: PriorBelief) -> Iterator[PriorBelief]:
    """Beliefs that are sure of a fixed cost, from the least to the largest that is plausible."""
    for off in np.linspace(-PLAUSIBLE, PLAUSIBLE, 17):
        mean, deviations = prior.mean.copy(), prior.deviations.copy()
        mean[0] += off * deviations[0]
        deviations[0] = 1e-3
        yield PriorBelief(mean, deviations)


def _frozen(vector: Vector) -> tuple[float, ...]:
    return tuple(vector.tolist())
