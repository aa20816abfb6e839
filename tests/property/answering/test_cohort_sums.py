"""What cohorts tell of how far off totals are: right on average over all samples, and bounds that hold."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from math import perm, prod
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamshed.answering.answer.answering import Answering
from streamshed.answering.estimate.cohort_sums import CohortSums
from streamshed.answering.table.output import Output, Shape
from streamshed.answering.table.shed_interval import ShedInterval
from streamshed.network.terms.aggregate import AggregateKind
from streamshed.network.terms.join_shedding import COHORTS
from streamshed.statistics.large_rows import are_missed, with_large_rows
from tests.thoroughness import examples
from tests.unit.answering.partials import partials

RATES = (1.0, 0.5, 0.2, 0.05)
Population = list[dict[float, float]]
"""Per row, what it brings at which rate."""


def _groupings(count: int) -> Iterator[tuple[tuple[int, ...], float]]:
    """Which rows share a cohort, one numbering for each, and how likely that is."""
    if not count:
        yield (), 1.0
        return
    for before, _ in _groupings(count - 1):
        size = max(before, default=-1) + 1
        for one in range(min(size, COHORTS - 1) + 1):
            own = (*before, one)
            yield own, perm(COHORTS, max(own) + 1) / COHORTS**count


def _numbers() -> list[tuple[float, float]]:
    """For each piece of [0, 1) that rates tell apart, a number in it and how likely it is."""
    edges = [0.0, *sorted(RATES)]
    return [((lo + hi) / 2, hi - lo) for lo, hi in itertools.pairwise(edges)]


def _sums(outcomes: Sequence[tuple[Sequence[float], Sequence[int]]], population: Population) -> CohortSums:
    entries = [
        (window, cohorts[row], 1 / rate, brought)
        for window, (numbers, cohorts) in enumerate(outcomes)
        for row, own in enumerate(population)
        for rate, brought in own.items()
        if numbers[row] < rate
    ]
    columns = np.array(entries, np.float64).reshape(-1, 4).T
    windows, cohorts = columns[0].astype(np.int64), columns[1].astype(np.int64)
    return CohortSums(len(outcomes), windows, cohorts, columns[2], *(columns[3],) * 4)


@examples(60)
@given(
    population=st.lists(
        st.dictionaries(st.sampled_from(RATES), st.integers(-20, 50).map(float), min_size=1, max_size=3),
        min_size=1,
        max_size=4,
    )
)
def test_the_variance_is_right_on_average_over_all_samples_and_cohorts(population: Population) -> None:
    count = len(population)
    outcomes = [
        (tuple(u for u, _ in drawn), cohorts, prod(p for _, p in drawn) * likely)
        for drawn in itertools.product(_numbers(), repeat=count)
        for cohorts, likely in _groupings(count)
    ]
    chances = np.array([chance for *_, chance in outcomes])
    assert chances.sum() == pytest.approx(1.0)
    sums = _sums([(numbers, cohorts) for numbers, cohorts, _ in outcomes], population)
    totals = np.bincount(sums.windows, sums.total * sums.weights, len(outcomes))
    mean = chances @ totals
    assert mean == pytest.approx(sum(sum(one.values()) for one in population))
    true = chances @ (totals - mean) ** 2
    found = sums.spread(sums.total)
    assert chances @ found.variance == pytest.approx(true, abs=1e-6)
    assert (found.variance >= -1e-9 * max(true, 1.0)).all()


def test_rows_that_are_certain_add_nothing() -> None:
    found = _sums([((0.9, 0.9), (0, 3))], [{1.0: 7.0}, {1.0: 9.0}]).spread(np.array([7.0, 9.0]))
    assert (found.variance.tolist(), found.cohorts.tolist()) == ([0.0], [0])


@examples(30)
@given(brought=st.lists(st.integers(1, 9), min_size=1, max_size=5), heavy=st.integers(0, 500))
def test_effective_rows_tell_few_from_many(brought: list[int], heavy: int) -> None:
    """Fourth powers are estimated without bias: over all ways to put rows into cohorts, (Σx²)²/n is Σx⁴ on average."""
    values = [float(one) for one in brought] + [float(heavy)] * (heavy > 0)
    values = values[-5:]
    ways = list(_groupings(len(values)))
    chances = np.array([likely for _, likely in ways])
    population = [{0.5: value} for value in values]
    sums = _sums([((0.1,) * len(values), way) for way, _ in ways], population)
    found = sums.spread(sums.total)
    scaled = 2 * np.array(values)
    squares = chances @ found.variance / 0.5
    assert squares == pytest.approx((scaled**2).sum())
    assert found.effective_rows().min() >= 1.0
    if heavy > 100:
        assert chances @ (found.effective_rows() < 3) > 0.9


_SHAPES = [(AggregateKind.COUNT, True), (AggregateKind.SUM, False), (AggregateKind.AVG, False)]
_OUTPUTS = [
    Output("q", "s", kind.name, Shape(kind, counts_rows, None, (), in_cohorts=True), 7, 0)
    for kind, counts_rows in _SHAPES
]


class Simulated:
    """Answers over samples of a population that brings pairs with values, drawn many times.

    Each row has some pairs, with the values 1 to as many. The last `late` rows come at a rate of their own.

    Attributes:
        truth: Count, sum and average of all pairs.
        answers: For each of these, one per draw.
        late_drawn: Per draw, how many late rows were.
    """

    def __init__(
        self, pairs: npt.NDArray[np.int64], rate: float, draws: int, seed: int, *, late: int = 0, late_rate: float = 1.0
    ) -> None:
        chance = np.random.default_rng(seed)
        rows = len(pairs)
        self.truth = np.array([pairs.sum(), (pairs * (pairs + 1) / 2).sum()])
        self.truth = np.append(self.truth, self.truth[1] / max(self.truth[0], 1))
        count, total = pairs.astype(float), pairs * (pairs + 1) / 2
        squares = pairs * (pairs + 1) * (2 * pairs + 1) / 6
        is_late, told, late_drawn = np.arange(rows) >= rows - late, [], []
        for _ in range(draws):
            drawn, cohort = chance.random(rows), chance.integers(0, COHORTS, rows)
            slices = []
            for sampling_rate, is_of_it in ((rate, ~is_late), (late_rate, is_late)):
                kept = is_of_it & (drawn < sampling_rate)
                by_cohort = [
                    np.asarray(np.bincount(cohort[kept], one[kept], COHORTS), np.float64)
                    for one in (count, total, squares)
                ]
                slices.append(_partials_of(by_cohort, 1 / sampling_rate, largest=int(pairs[kept].max(initial=0))))
            told.append(_of_both(*slices))
            late_drawn.append(int((is_late & (drawn < late_rate)).sum()))
        self.late_drawn = np.array(late_drawn)
        shed = [ShedInterval(stream="s", start=0, until=10, sampling_rates={"7.0": min(rate, late_rate)})]
        self.partials = partials(*told)
        self.answers = [
            batch.to_pylist() for one in _OUTPUTS for batch in Answering([one], 0.95).answers(self.partials, shed)
        ]

    def coverage(self) -> list[float]:
        """How often bounds of count, sum and average held; where there is one, or where one is missing."""
        return [
            float(
                np.mean(
                    [
                        (one["lower"] is None or one["lower"] <= truth)
                        and (one["upper"] is None or truth <= one["upper"])
                        for one in told
                    ]
                )
            )
            for truth, told in zip(self.truth, self.answers, strict=True)
        ]


def _partials_of(
    by_cohort: Sequence[npt.NDArray[np.float64]], weight: float, *, largest: int | None = None
) -> dict[str, Any]:
    rows, total, squares = (float(one.sum()) for one in by_cohort)
    excess = weight * (weight - 1)
    return {
        "rows": round(rows),
        "present": round(rows),
        "total": total,
        "rows_weighted": rows * weight,
        "present_weighted": rows * weight,
        "total_weighted": total * weight,
        "squares_weighted": squares * weight,
        "rows_excess": rows * excess,
        "present_excess": rows * excess,
        "present_excess_squared": rows * excess**2,
        "greatest_weight": weight if rows else None,
        "least_number": 1.0 if largest else None,
        "greatest_number": float(largest) if largest else None,
        "cohorts": [
            {"cohort": cohort, "weight": weight, "rows": int(n), "present": int(n), "total": t, "squares": s}
            for cohort, (n, t, s) in enumerate(zip(*by_cohort, strict=True))
            if n
        ],
    }


def _of_both(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    """The partials of a window of two slices."""
    merged = {name: first[name] + second[name] for name in first if not name.startswith(("least", "greatest"))}
    for name, side in {"greatest_weight": max, "least_number": min, "greatest_number": max}.items():
        merged[name] = side((one[name] for one in (first, second) if one[name] is not None), default=None)
    return merged


def _heavy_key(chance: np.random.Generator, rows: int = 4000) -> npt.NDArray[np.int64]:
    """A tenth of the rows have one key, and with it nine tenths of the pairs."""
    return np.where(chance.random(rows) < 0.1, 500, chance.poisson(6, rows))


def _zipf(rows: int, seed: int) -> npt.NDArray[np.int64]:
    return np.random.default_rng(seed).zipf(1.6, rows).clip(max=200)


POPULATIONS = {
    "alike": (np.full(2000, 5), 0.1),
    "few": (np.full(100, 3), 0.1),
    "very few": (np.full(20, 10), 0.2),
    "by chance": (np.random.default_rng(1).poisson(2.0, 1500), 0.2),
    "one key has nearly all": (_heavy_key(np.random.default_rng(2)), 0.05),
    "Zipf over keys": (_zipf(20_000, 3), 0.1),
}


@pytest.mark.parametrize("name", POPULATIONS)
def test_bounds_hold_as_often_as_they_should(name: str) -> None:
    pairs, rate = POPULATIONS[name]
    simulated = Simulated(pairs.astype(np.int64), rate, draws=1000, seed=7)
    # Of a thousand draws, three standard deviations are 0.02.
    assert min(simulated.coverage()) > 0.925


@pytest.mark.parametrize(("late", "late_rate"), [(100, 0.01), (60, 0.02), (20, 0.05)])
def test_bounds_hold_where_none_of_some_late_rows_was_drawn(late: int, late_rate: float) -> None:
    pairs = np.random.default_rng(4).integers(1, 6, 1000 + late)
    simulated = Simulated(pairs, 0.5, draws=500, seed=9, late=late, late_rate=late_rate)
    missed = simulated.late_drawn == 0
    assert missed.sum() > 100
    for truth, told in zip(simulated.truth, simulated.answers, strict=True):
        of_missed = [told[draw] for draw in np.flatnonzero(missed)]
        holds = [one["lower"] <= truth <= one["upper"] for one in of_missed]
        assert np.mean(holds) >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / len(holds))
        assert told is simulated.answers[0] or all(one["low"] for one in of_missed)


LATE = {
    "alike": (np.full(1000, 3), 0.5, np.full(150, 3), 0.01),
    "by chance": (np.random.default_rng(5).poisson(2.0, 1000), 0.9, np.random.default_rng(6).poisson(2.0, 150), 0.01),
    "hardly any": (np.full(400, 2), 0.5, np.full(40, 2), 0.05),
    "Zipf": (_zipf(1000, 7), 0.9, _zipf(150, 8), 0.01),
    "one key has nearly all": (
        _heavy_key(np.random.default_rng(9), 1000),
        0.9,
        _heavy_key(np.random.default_rng(3), 150),
        0.01,
    ),
}
"""What rows of a high rate bring, that rate, what late rows bring, and theirs."""


@pytest.mark.parametrize("name", LATE)
def test_trusted_bounds_hold_where_one_or_two_late_rows_were_drawn(name: str) -> None:
    early, rate, late, late_rate = LATE[name]
    pairs = np.concatenate([early, late]).astype(np.int64)
    simulated = Simulated(pairs, rate, draws=600, seed=9, late=len(late), late_rate=late_rate)
    is_few = (simulated.late_drawn > 0) & (simulated.late_drawn < 3)
    assert is_few.sum() > 100
    for truth, told in zip(simulated.truth, simulated.answers, strict=True):
        of_few = [told[draw] for draw in np.flatnonzero(is_few)]
        is_trusted = np.array([not one["low"] and one["lower"] is not None for one in of_few])
        holds = np.array([one["lower"] is None or one["lower"] <= truth <= one["upper"] for one in of_few])
        margin = 3 * np.sqrt(0.95 * 0.05 / len(of_few))
        assert (is_trusted & ~holds).mean() <= (0.05 + margin) * is_trusted.mean() + 0.005


def test_samples_without_the_rows_that_have_nearly_all_pairs_are_not_trusted_once_these_were_seen() -> None:
    pairs = np.append(np.full(2000, 3), np.full(5, 5000))
    simulated = Simulated(pairs, 0.2, draws=300, seed=1)
    for output, truth, told in zip(_OUTPUTS[:2], simulated.truth, simulated.answers, strict=False):
        trusted = [one for one in told if not one["low"]]
        assert len(trusted) > 90
        assert np.mean([one["lower"] <= truth <= one["upper"] for one in trusted]) < 0.2
        answering = Answering([output], 0.95)
        sums = answering.carried.sums(simulated.partials)[7, 0]
        assert are_missed(with_large_rows({}, sums))
        [again] = answering.answers(simulated.partials, effective_shares={"7.0": 0.0})
        assert all(again.column("low").to_pylist())


@pytest.mark.parametrize("name", ["alike", "by chance", "one key has nearly all"])
def test_samples_of_rows_that_bring_alike_stay_trusted(name: str) -> None:
    pairs, rate = POPULATIONS[name]
    simulated = Simulated(pairs.astype(np.int64), rate, draws=200, seed=3)
    for output in _OUTPUTS[:2]:
        sums = Answering([output], 0.95).carried.sums(simulated.partials)[7, 0]
        assert sums.windows > 150
        assert not are_missed(with_large_rows({}, sums))


def test_where_few_rows_have_nearly_all_pairs_answers_are_low() -> None:
    few = Simulated(np.append(np.full(2000, 1), np.full(4, 5000)), 0.5, draws=300, seed=1)
    assert np.mean([one["low"] for one in few.answers[0]]) > 0.5
    many = Simulated(np.full(4000, 3), 0.2, draws=300, seed=1)
    assert np.mean([one["low"] for one in many.answers[0]]) < 0.15


def test_what_nobody_has_seen_has_no_upper_bound() -> None:
    nothing = {"rows": 0, "present": 0, "rows_weighted": 0.0, "present_weighted": 0.0, "greatest_weight": None}
    few = _partials_of([np.array([4.0]), np.array([8.0]), np.array([16.0])], 2.0)
    shed = [ShedInterval(stream="s", start=0, until=10, sampling_rates={"7.0": 0.01})]
    (batch,) = Answering([_OUTPUTS[0]], 0.95).answers(partials(nothing | {"cohorts": []}, few), shed)
    none, some = batch.to_pylist()
    assert (none["value"], none["lower"], none["upper"], none["reason"]) == (0.0, 0.0, None, "no row kept")
    # Of rows at 1 in 100 that nobody has seen there may be ln(40)/0.01, each of them with four partners.
    assert some["upper"] > 8.0 + 4 * math.log(40) / 0.01
    assert (some["lower"], some["exact"], some["low"]) == (4.0, False, True)


@pytest.mark.parametrize("total", [math.inf, math.nan])
def test_what_is_not_finite_has_no_bounds(total: float) -> None:
    odd = _partials_of(
        [np.full(COHORTS, 3.0), np.append(total, np.full(COHORTS - 1, 6.0)), np.full(COHORTS, 14.0)], 2.0
    )
    for output in _OUTPUTS[1:]:
        (batch,) = Answering([output], 0.95).answers(partials(odd))
        (told,) = batch.to_pylist()
        assert not math.isfinite(told["value"])
        assert all(told[name] is None or math.isnan(told[name]) for name in ("lower", "upper", "standard_error"))


def test_an_average_of_values_alike_is_not_known_better_than_its_digits() -> None:
    """As of rows that are sampled one by one: where nothing tells how far off it is, there are no bounds."""
    alike = _partials_of([np.full(COHORTS, 3.0), np.full(COHORTS, 15.0), np.full(COHORTS, 75.0)], 2.0)
    (batch,) = Answering([_OUTPUTS[2]], 0.95).answers(partials(alike))
    (told,) = batch.to_pylist()
    assert (told["value"], told["lower"], told["standard_error"], told["exact"]) == (5.0, None, None, False)
