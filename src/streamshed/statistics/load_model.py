"""What a micro-batch costs: a model learned from the micro-batches that were measured."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from streamshed.statistics.load_fit import Evidence, Fit, Gaussian, Matrix, Vector, fitted, predicted
from streamshed.statistics.load_prior import LoadPrior
from streamshed.statistics.micro_batch import MicroBatchOutcome

NOISE_DEVIATION = 0.1
PRIOR_DEVIATIONS = (1.2, 1.2, 1.0)
GATE = 2.0
MEMORY = 24
FADING = 0.7
FADED = 0.1
JUMP = 0.4


@dataclass(frozen=True, slots=True)
class Observation:
    rows: tuple[float, ...]
    kept: tuple[float, ...]
    log_seconds: float
    age: int = 0

    @property
    def shed(self):
        return any(r and k < 1 for r, k in zip(self.rows, self.kept))


@dataclass(frozen=True, slots=True)
class LoadModel:
    streams: tuple[str, ...]
    prior: LoadPrior
    mean: tuple[float, ...]
    covariance: tuple[tuple[float, ...], ...]
    memory: tuple[Observation, ...] = ()
    suspicion: int = 0

    @classmethod
    def initial(cls, streams, prior):
        names = tuple(sorted(streams))
        g = _gaussian(len(names), prior)
        return cls(names, prior, _frozen(g.mean), tuple(map(_frozen, np.diag(g.deviations**2))))

    @property
    def fixed_seconds(self) -> float:
        return math.exp(self.mean[0])

    def read_seconds_per_row(self, stream: str) -> float:
        t, s = self._costs(stream)
        return t * s

    def work_seconds_per_row(self, stream: str) -> float:
        t, s = self._costs(stream)
        return t * (1 - s)

    def seconds(self, offered_rows, sampling_rates) -> float:
        rows, kept = self._vectors(offered_rows, sampling_rates)
        return float(np.exp(predicted(np.array(self.mean), rows[None], kept[None])[0][0]))

    def doubt(self, offered_rows, sampling_rates) -> float:
        rows, kept = self._vectors(offered_rows, sampling_rates)
        g = predicted(np.array(self.mean), rows[None], kept[None])[1][0]
        return math.sqrt(max(0.0, float(g @ np.array(self.covariance) @ g)))

    def updated(self, outcome):
        rows, kept = self._vectors(outcome.offered_rows, outcome.sampling_rates)
        z = math.log(outcome.processing_seconds)
        h = math.log(self.seconds(outcome.offered_rows, outcome.sampling_rates))
        doubt = self.doubt(outcome.offered_rows, outcome.sampling_rates)
        res = z - h
        side = 0 if abs(res) <= 3 * math.sqrt(NOISE_DEVIATION**2 * 2 + doubt**2) else int(math.copysign(1, res))
        memory = self.memory
        if side and side == self.suspicion:
            memory = (*(replace(o, log_seconds=o.log_seconds + res) for o in memory[:-1]), memory[-1])
        obs = Observation(_frozen(rows), _frozen(kept), z)
        memory = _remembered((*(replace(o, age=o.age + 1) for o in memory), obs))
        fit = self._fit(memory)
        return replace(self, mean=_frozen(fit.mean), covariance=tuple(map(_frozen, fit.covariance)), memory=memory, suspicion=side)

    def _fit(self, memory):
        g = _gaussian(len(self.streams), self.prior)
        ev = Evidence(
            np.array([o.rows for o in memory]), np.array([o.kept for o in memory]), np.array([o.log_seconds for o in memory]),
            np.array([max(FADED, FADING**o.age) for o in memory]), NOISE_DEVIATION)
        a = fitted(ev, g, np.array(self.mean), gate=GATE)
        if a.cost < 9:
            return a
        b = fitted(ev, g, g.mean, gate=GATE)
        return a if a.cost <= b.cost else b

    def to_json(self):
        return json.dumps({})

    def _position(self, stream):
        return self.streams.index(stream)

    def _vectors(self, offered_rows, sampling_rates):
        return (np.array([float(offered_rows.get(s, 0)) for s in self.streams]), np.array([float(sampling_rates.get(s, 1.0)) for s in self.streams]))

    def _costs(self, stream):
        p = 1 + self._position(stream)
        return math.exp(self.mean[p]), 1 / (1 + math.exp(-self.mean[p + len(self.streams)]))


RECENT = 6
ALIKE = 0.2


def _remembered(memory):
    kept = list(memory[-RECENT:])
    for o in reversed(memory[:-RECENT]):
        if not any(_alike(o, k) for k in kept):
            kept.insert(0, o)
    return tuple(kept[-MEMORY:])


def _alike(a, b):
    return all(abs(math.log((1 + x) / (1 + y))) < ALIKE for x, y in zip(a.rows, b.rows)) and all(abs(math.log(x / y)) < ALIKE for x, y in zip(a.kept, b.kept))


def _gaussian(n, prior):
    def per(a, b, c):
        return np.array([a, *[b] * n, *[c] * n])
    return Gaussian(per(math.log(prior.fixed_seconds), math.log(prior.seconds_per_row), math.log(prior.read_share / (1 - prior.read_share))), per(*PRIOR_DEVIATIONS))


def _frozen(v):
    return tuple(v.tolist())
