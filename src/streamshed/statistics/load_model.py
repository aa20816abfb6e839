"""What a micro-batch costs: a model learned from every micro-batch that was measured."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from streamshed.statistics import log_filter
from streamshed.statistics.load_prior import LoadPrior
from streamshed.statistics.log_filter import FilterSettings, FilterState, Matrix, Vector
from streamshed.statistics.micro_batch import MicroBatchOutcome

PRIOR_DEVIATIONS = (0.7, 1.2, 1.0)
"""How far off the prior may be: ln of the fixed cost, ln of the cost per row, logit of the read share."""

DRIFT_DEVIATIONS = (0.02, 0.06, 0.03)
"""How far the same may drift from one micro-batch to the next."""

BOUNDS = ((math.log(1e-3), math.log(1e3)), (math.log(1e-10), math.log(10.0)), (-4.0, 2.2))
"""Where the same may never leave: 1 ms to 1000 s, 0.1 ns to 10 s per row, read shares of 2 % to 98 %."""

NOISE_DEVIATION = 0.1
"""How far a micro-batch ordinarily is off a perfect prediction: ±10 %."""

FILTER = FilterSettings(noise_deviation=NOISE_DEVIATION, gate=3.0)


@dataclass(frozen=True, slots=True)
class LoadModel:
    """Predicts the seconds of a micro-batch from its rows and its sampling rates.

    With n_s rows offered by stream s and kept at sampling rate P_s:

        seconds = fixed_seconds + Σ_s n_s · (read_seconds_per_row_s + work_seconds_per_row_s · P_s)

    Learned are the logarithms of the fixed cost and of each stream's cost per row, and the logit of its read
    share, by `log_filter`. While everything is kept (P = 1) a measurement does not depend on the read share,
    its gradient is zero and the prior stays untouched; the first micro-batches that shed correct it.

    Build one with `LoadModel.initial`.

    Args:
        streams: The streams it knows, sorted.
        prior: What it was built from.
        mean: ln fixed seconds, then per stream ln seconds per row, then per stream logit of the read share.
        covariance: Uncertainty of `mean`.
        suspicion: Whether the last measurement was an outlier, see `FilterState`.

    Example:
        >>> model = LoadModel.initial(["packets"], LoadPrior(fixed_seconds=0.5, seconds_per_row=1e-6))
        >>> model.seconds({"packets": 1_000_000}, {})
        1.5
        >>> round(model.seconds({"packets": 1_000_000}, {"packets": 0.2}), 2)
        0.9
    """

    streams: tuple[str, ...]
    prior: LoadPrior
    mean: tuple[float, ...]
    covariance: tuple[tuple[float, ...], ...]
    suspicion: int = 0

    @classmethod
    def initial(cls, streams: Sequence[str], prior: LoadPrior) -> "LoadModel":
        """Build a model of `streams` that knows nothing but `prior`."""
        names = tuple(sorted(streams))
        mean = _per_coefficient(
            len(names),
            math.log(prior.fixed_seconds),
            math.log(prior.seconds_per_row),
            math.log(prior.read_share / (1 - prior.read_share)),
        )
        covariance = np.diag(_per_coefficient(len(names), *PRIOR_DEVIATIONS) ** 2)
        return cls(names, prior, _frozen(mean), tuple(map(_frozen, covariance)))

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
            * (
                self.read_seconds_per_row(stream)
                + self.work_seconds_per_row(stream) * sampling_rates.get(stream, 1.0)
            )
            for stream, rows in offered_rows.items()
        )

    def doubt(self, offered_rows: Mapping[str, float], sampling_rates: Mapping[str, float]) -> float:
        """Return how uncertain a prediction is, as the standard deviation of ln(seconds) without noise.

        Small where the micro-batches of late were alike, large far from them: at five times their rows, say,
        when nothing has told yet which part of their cost was fixed.
        """
        _, gradient = _log_seconds(np.array(self.mean), *self._vectors(offered_rows, sampling_rates))
        return math.sqrt(max(0.0, float(gradient @ np.array(self.covariance) @ gradient)))

    def updated(self, outcome: MicroBatchOutcome) -> "LoadModel":
        """Learn from one measured micro-batch.

        Raises:
            ValueError: It holds rows of an unknown stream.
        """
        rows, kept = self._vectors(outcome.offered_rows, outcome.sampling_rates)
        belief = log_filter.updated(
            FilterState(np.array(self.mean), self._drifted_covariance(), self.suspicion),
            math.log(outcome.processing_seconds),
            lambda mean: _log_seconds(mean, rows, kept),
            may_jump=_per_coefficient(len(self.streams), 1.0, 1.0, 0.0),
            settings=FILTER,
        )
        return replace(
            self,
            mean=_frozen(np.clip(belief.mean, *_bounds(len(self.streams)))),
            covariance=tuple(map(_frozen, belief.covariance)),
            suspicion=belief.suspicion,
        )

    def to_json(self) -> str:
        """Write down what was learned, for `from_json`."""
        return json.dumps(
            {
                "streams": self.streams,
                "mean": self.mean,
                "covariance": self.covariance,
                "suspicion": self.suspicion,
            }
        )

    @classmethod
    def from_json(cls, text: str, *, streams: Sequence[str], prior: LoadPrior) -> "LoadModel":
        """Restore what `to_json` wrote, for a network whose streams may have changed since.

        Args:
            text: What `to_json` returned.
            streams: The streams of the present network; those not in `text` start from the prior.
            prior: For those, and as the outer limit of uncertainty.
        """
        known = json.loads(text)
        fresh = cls.initial(streams, prior)
        old_streams: list[str] = known["streams"]
        kept = [stream for stream in fresh.streams if stream in old_streams]
        source = _positions(kept, old_streams)
        target = _positions(kept, fresh.streams)
        mean, covariance = np.array(fresh.mean), np.array(fresh.covariance)
        mean[target] = np.array(known["mean"])[source]
        covariance[np.ix_(target, target)] = np.array(known["covariance"])[np.ix_(source, source)]
        return replace(
            fresh,
            mean=_frozen(mean),
            covariance=tuple(map(_frozen, covariance)),
            suspicion=int(known["suspicion"]),
        )

    def _vectors(
        self, offered_rows: Mapping[str, float], sampling_rates: Mapping[str, float]
    ) -> tuple[Vector, Vector]:
        for stream in offered_rows:
            self._position(stream)
        return (
            np.array([float(offered_rows.get(stream, 0)) for stream in self.streams]),
            np.array([float(sampling_rates.get(stream, 1.0)) for stream in self.streams]),
        )

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

    def _drifted_covariance(self) -> Matrix:
        """Add the random walk of one micro-batch, but never exceed the uncertainty of the prior."""
        count = len(self.streams)
        drifted = np.array(self.covariance) + np.diag(_per_coefficient(count, *DRIFT_DEVIATIONS) ** 2)
        limit = _per_coefficient(count, *PRIOR_DEVIATIONS)
        shrink = np.minimum(1.0, limit / np.sqrt(np.diag(drifted)))
        return drifted * np.outer(shrink, shrink)


def _log_seconds(mean: Vector, rows: Vector, kept: Vector) -> tuple[float, Vector]:
    """Return ln(predicted seconds) and its gradient: each coefficient's share of the total (elasticity)."""
    count = len(rows)
    fixed = math.exp(mean[0])
    full = rows * np.exp(mean[1 : 1 + count])
    read_share = 1 / (1 + np.exp(-mean[1 + count :]))
    spent = full * (read_share + (1 - read_share) * kept)
    total = fixed + float(spent.sum())
    by_read_share = full * (1 - kept) * read_share * (1 - read_share)
    return math.log(total), np.concatenate(([fixed], spent, by_read_share)) / total


def _per_coefficient(streams: int, fixed: float, seconds_per_row: float, read_share: float) -> Vector:
    return np.array([fixed, *[seconds_per_row] * streams, *[read_share] * streams])


def _bounds(streams: int) -> tuple[Vector, Vector]:
    lower, upper = zip(*BOUNDS, strict=True)
    return _per_coefficient(streams, *lower), _per_coefficient(streams, *upper)


def _positions(streams: Sequence[str], among: Sequence[str]) -> list[int]:
    """Return where the coefficients of `streams` stand in the state of a model of `among`."""
    places = [1 + list(among).index(stream) for stream in streams]
    return [0, *places, *(place + len(among) for place in places)]


def _frozen(vector: Vector) -> tuple[float, ...]:
    return tuple(vector.tolist())
