"""What a micro-batch costs: a model learned from the micro-batches that were measured."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass, replace

import numpy as np

from streamshed.statistics.load_fit import Evidence, Fit, Matrix, PriorBelief, Vector, dear_rows, fitted, predicted
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
from streamshed.statistics.load_prior import LoadPrior
from streamshed.statistics.micro_batch import MicroBatchOutcome

NOISE_DEVIATION = 0.1
"""How far a micro-batch ordinarily is off a perfect prediction: ±10 %."""

PRIOR_DEVIATIONS = (1.0, 2.0, 1.0)
"""How far off the prior may be: ln of the fixed cost, ln of the cost per row, logit of the read share."""

MEASURED_DEVIATIONS = (0.2, 0.2, 0.5)
"""The same of a prior that was measured."""

OUTLIER = 3.0
"""An error of prediction beyond so many standard deviations is suspicious."""

POOR_COST = 4.0
"""A fit that leaves more unexplained than this is tried again from elsewhere."""


@dataclass(frozen=True, slots=True)
class LoadModel:
    """Predicts the seconds of a micro-batch from its rows and its sampling rates.

    With n_s rows offered by stream s and kept at sampling rate P_s:

        seconds = fixed_seconds + Σ_s n_s · (read_seconds_per_row_s + work_seconds_per_row_s · P_s)

    The coefficients are fitted to the micro-batches in memory and to the prior (`load_fit`). While everything
    is kept (P = 1) reading and work cannot be told apart, and the prior's read share stands; micro-batches
    that shed correct it, and are remembered. A single outlier moves nothing, and displaces nothing from memory:
    a machine has its hiccups, and answers are not given up for one. A second one in a row on the same side is
    no accident: the level of all costs has changed. Nor is one that comes soon after another; it is learned from
    like any other micro-batch.

    A micro-batch without rows is spared much that even the first row costs, such as a user function's process. So what
    it took is no fixed cost of others, and is forgotten soon (`load_memory`).

    Recursive least squares was tried first. In seconds it collapses when the prior is too dear, for normal
    beliefs know no positive costs; in logarithms it forgets that a calm load bounded the fixed cost, and may
    settle on a wrong split of fixed, read and work for good.

    Build one with `LoadModel.initial`.

    Args:
        streams: The streams it knows, sorted.
        prior: What it was built from.
        mean: ln fixed seconds, then per stream ln seconds per row, then per stream logit of the read share.
        covariance: Uncertainty of `mean`.
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
    covariance: tuple[tuple[float, ...], ...]
    memory: Memory = ()
    suspicion: int = 0
    suspect: Observation | None = None
    disregarded: int = RECENT

    @classmethod
    def initial(cls, streams: Sequence[str], prior: LoadPrior) -> "LoadModel":
        """Build a model of `streams` that knows nothing but `prior`."""
        names = tuple(sorted(streams))
        belief = _belief(len(names), prior)
        return cls(names, prior, _frozen(belief.mean), _frozen_rows(np.diag(belief.deviations**2)))

    @property
    def fixed_seconds(self) -> float:
        """What a micro-batch costs without any row."""
        return math.exp(self.mean[0])

    def read_seconds_per_row(self, stream: str) -> float:
        """Return what a row of `stream` costs even when the sampler drops it."""
        seconds_per_row, read_share = self._costs(stream)
        return seconds_per_row * read_share

    def work_seconds_per_row(self, stream: str) -> float:
        """Return what a row of `stream` costs on top when it is kept."""
        seconds_per_row, read_share = self._costs(stream)
        return seconds_per_row * (1 - read_share)

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

    def doubt(self, offered_rows: Mapping[str, float], sampling_rates: Mapping[str, float]) -> float:
        """Return how uncertain a prediction is: the standard deviation of ln(seconds), without noise.

        Small where the micro-batches of late were alike, large far from them: at five times their rows, say,
        when nothing has told yet which part of their cost was fixed.
        """
        rows, kept = self._vectors(offered_rows, sampling_rates)
        gradient = predicted(np.array(self.mean), rows[np.newaxis], kept[np.newaxis])[1][0]
        return math.sqrt(max(0.0, float(gradient @ np.array(self.covariance) @ gradient)))

    def updated(self, outcome: MicroBatchOutcome) -> "LoadModel":
        """Learn from one measured micro-batch.

        Raises:
            ValueError: It holds rows of an unknown stream.
        """
        rows, kept = self._vectors(outcome.costed_rows, outcome.shares_done)
        observation = Observation(
            _frozen(rows), _frozen(kept), math.log(outcome.processing_seconds), speedup=outcome.speedup
        )
        expected_seconds = self.seconds(outcome.costed_rows, outcome.shares_done)
        error = observation.log_seconds - math.log(expected_seconds)
        suspicion = self._suspicion(error, self.doubt(outcome.costed_rows, outcome.shares_done))
        has_jumped = suspicion != 0 and suspicion == self.suspicion
        if suspicion != 0 and not has_jumped and self.disregarded >= RECENT:
            return replace(self, suspicion=suspicion, suspect=observation, disregarded=0)
        memory = self._memory_until_now(is_confirmed=has_jumped)
        memory = remembered(releveled(memory, error) if has_jumped else memory, observation)
        fit = _fit(memory, _belief(len(self.streams), self.prior), np.array(self.mean))
        return replace(
            self,
            mean=_frozen(fit.mean),
            covariance=_frozen_rows(fit.covariance),
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
        rows = slice(1, 1 + len(self.streams))
        mean = np.array(self.mean)
        mean[rows] += math.log(speedup(latest) / latest)
        return replace(
            self,
            mean=_frozen(mean),
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
                "covariance": self.covariance,
                "memory": [astuple(known) for known in self.memory],
                "suspicion": self.suspicion,
                "suspect": None if self.suspect is None else astuple(self.suspect),
                "disregarded": self.disregarded,
            }
        )

    @classmethod
    def from_json(cls, text: str, *, streams: Sequence[str], prior: LoadPrior) -> "LoadModel":
        """Restore what `to_json` wrote.

        Args:
            text: What `to_json` returned.
            streams: The streams of the present network. If others were known then, the model is fitted again
                to those micro-batches in memory that held rows of present streams only.
            prior: What is believed without evidence.
        """
        known = json.loads(text)
        old_streams = tuple(known["streams"])
        memory = tuple(_observation(*fields) for fields in known["memory"])
        fresh = cls.initial(streams, prior)
        if fresh.streams != old_streams:
            return _refitted(fresh, translated(memory, old_streams, fresh.streams))
        return replace(
            fresh,
            mean=tuple(known["mean"]),
            covariance=tuple(map(tuple, known["covariance"])),
            memory=memory,
            suspicion=int(known["suspicion"]),
            suspect=None if known["suspect"] is None else _observation(*known["suspect"]),
            disregarded=int(known["disregarded"]),
        )

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

    def _costs(self, stream: str) -> tuple[float, float]:
        position = 1 + self._position(stream)
        logit = self.mean[position + len(self.streams)]
        return math.exp(self.mean[position]), 1 / (1 + math.exp(-logit))

    def _vectors(self, offered_rows: Mapping[str, float], sampling_rates: Mapping[str, float]) -> tuple[Vector, Vector]:
        for stream in offered_rows:
            self._position(stream)
        return (
            np.array([float(offered_rows.get(stream, 0)) for stream in self.streams]),
            np.array([float(sampling_rates.get(stream, 1.0)) for stream in self.streams]),
        )

    def _suspicion(self, error: float, doubt: float) -> int:
        """Return the side of an outlier; the noise counts twice, for the model was learned from noise too."""
        widest = OUTLIER * math.sqrt(2 * NOISE_DEVIATION**2 + doubt**2)
        return 0 if abs(error) <= widest else int(math.copysign(1, error))


def _observation(
    rows: Sequence[float], kept: Sequence[float], log_seconds: float, age: int, speedup: float = 1.0
) -> Observation:
    return Observation(tuple(rows), tuple(kept), log_seconds, age, speedup)


def _fit(memory: Memory, prior: PriorBelief, start: Vector) -> Fit:
    evidence = Evidence(
        rows=np.array([known.rows for known in memory]),
        kept=np.array([known.kept for known in memory]),
        log_seconds=np.array([known.log_seconds for known in memory]),
        weights=np.array([known.weight for known in memory]),
        noise_deviation=NOISE_DEVIATION,
    )
    fit = fitted(evidence, prior, start)
    if fit.cost <= POOR_COST:
        return fit
    starts = [prior.mean, dear_rows(evidence, prior)]
    return min([fit, *(fitted(evidence, prior, start) for start in starts)], key=lambda either: either.cost)


def _refitted(model: LoadModel, memory: Memory) -> LoadModel:
    if not memory:
        return model
    prior = _belief(len(model.streams), model.prior)
    fit = _fit(memory, prior, prior.mean)
    return replace(model, mean=_frozen(fit.mean), covariance=_frozen_rows(fit.covariance), memory=memory)


def _belief(streams: int, prior: LoadPrior) -> PriorBelief:
    logit = math.log(prior.read_share / (1 - prior.read_share))
    mean = (math.log(prior.fixed_seconds), math.log(prior.seconds_per_row), logit)
    deviations = MEASURED_DEVIATIONS if prior.is_measured else PRIOR_DEVIATIONS
    return PriorBelief(_per_coefficient(streams, mean), _per_coefficient(streams, deviations))


def _per_coefficient(streams: int, values: tuple[float, float, float]) -> Vector:
    fixed, row, read_share = values
    return np.array([fixed, *[row] * streams, *[read_share] * streams])


def _frozen(vector: Vector) -> tuple[float, ...]:
    return tuple(vector.tolist())


def _frozen_rows(matrix: Matrix) -> tuple[tuple[float, ...], ...]:
    return tuple(_frozen(row) for row in matrix)
