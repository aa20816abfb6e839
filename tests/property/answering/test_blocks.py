"""Bounds hold where whole blocks were left unread, be the rows of each alike or not."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

from streamshed.answering.answer.answering import Answering
from streamshed.answering.table.output import Output, Shape
from streamshed.answering.table.shed_interval import ShedInterval
from streamshed.answering.table.value_kind import Notation
from streamshed.columnar.spark_hash import block_draws, first_draw
from streamshed.network.terms.aggregate import AggregateKind
from streamshed.network.terms.join_shedding import COHORTS
from streamshed.planning.place.block_cut import UNREAD, BlockCut
from tests.unit.answering.partials import kept, partials, together

_SHAPES = [(AggregateKind.COUNT, True), (AggregateKind.SUM, False), (AggregateKind.AVG, False)]
_OUTPUTS = [Output("q", "s", kind.name, Shape(kind, rows, None, ()), 7, 0) for kind, rows in _SHAPES]
Doubles = npt.NDArray[np.float64]


class Population:
    """Rows of a query in blocks of files, beside others.

    Args:
        sizes: How many rows each block has in all.
        passing: Which share of its rows the query takes, on average.
        spread: How much that differs from block to block: the coefficient of variation.
        level: By how much the mean of its values does; rows of one have a deviation of 1 around it.
    """

    def __init__(self, sizes: npt.NDArray[np.int64], *, passing: float, spread: float, level: float) -> None:
        chance = np.random.default_rng(5)
        shares = passing if spread == 0 else chance.gamma(spread**-2, passing * spread**2, len(sizes)).clip(max=1.0)
        self.sizes = sizes
        self.values = [
            10.0 + centre + chance.standard_normal(count)
            for count, centre in zip(
                chance.binomial(sizes, shares), level * chance.standard_normal(len(sizes)), strict=True
            )
        ]
        every = np.concatenate(self.values)
        self.truth = (len(every), every.sum(), every.mean())

    def sample(self, share: float, rate: float, draw: int) -> dict[str, Any]:
        """Window partials of a sample: blocks with a share of the rows; of all rows some, at a rate."""
        chance = np.random.default_rng(draw)
        # Of one order, those that are spread evenly may be a lucky choice or a bad one.
        drawn = chance.permutation(block_draws(first_draw("packets", draw), range(len(self.sizes))))
        cut = BlockCut.of(drawn, self.sizes, share, draw)
        assert cut is not None
        cohorts = cut.cohorts(drawn)
        by_cohort: list[list[Doubles]] = [[] for _ in range(COHORTS)]
        for cohort, values in zip(cohorts.tolist(), self.values, strict=True):
            if cohort != UNREAD:
                by_cohort[cohort].append(values[chance.random(len(values)) * cut.share < rate])
        taken = [np.concatenate([np.zeros(0), *of_cohort]) for of_cohort in by_cohort]
        brought = [[len(values), len(values), values.sum(), (values**2).sum()] for values in taken]
        return kept(rate, np.concatenate(taken)) | {"block_sums": block_sums(rate, np.array(brought, np.float64))}


def block_sums(rate: float, brought: Doubles) -> list[float]:
    """What stands for a micro-batch in a window: its rate, and what each cohort brings of `BLOCK_FIELDS`."""
    excess = (1 - rate) / rate**2
    rows, present, _, squares = brought.sum(axis=0)
    return [*(brought * math.sqrt(excess)).ravel(), rows * excess, present * excess, squares * excess]


def _answers(population: Population, share: float, rate: float, draws: int) -> list[list[dict[str, Any]]]:
    return _answered([population.sample(share, rate, draw) for draw in range(draws)], rate)


def _answered(windows: list[dict[str, Any]], rate: float) -> list[list[dict[str, Any]]]:
    samples = partials(*windows)
    shed = [ShedInterval(stream="s", start=0, until=10, sampling_rates={"7.0": rate}, in_blocks=True)]
    return [pa.Table.from_batches(Answering([one], 0.95).answers(samples, shed)).to_pylist() for one in _OUTPUTS]


ALIKE = np.full(200, 300)
POPULATIONS = {
    "as if row by row": (Population(ALIKE, passing=0.3, spread=0.0, level=0.0), 0.3, 0.1),
    "blocks differ": (Population(ALIKE, passing=0.3, spread=0.5, level=1.0), 0.3, 0.3),
    "rows of each are alike": (Population(ALIKE, passing=0.3, spread=1.0, level=5.0), 0.25, 0.05),
    "of many sizes": (
        Population(np.random.default_rng(3).integers(20, 900, 300), passing=0.5, spread=0.5, level=2.0),
        0.2,
        0.1,
    ),
    "few blocks": (Population(np.full(60, 1000), passing=0.5, spread=0.3, level=1.0), 0.3, 0.2),
    "not as many as cohorts": (Population(np.full(40, 1000), passing=0.5, spread=0.3, level=1.0), 0.25, 0.2),
}


@pytest.mark.parametrize("name", POPULATIONS)
def test_bounds_hold_as_often_as_they_should(name: str) -> None:
    population, share, rate = POPULATIONS[name]
    for truth, told in zip(population.truth, _answers(population, share, rate, draws=400), strict=True):
        holds = [one["lower"] <= truth <= one["upper"] for one in told if one["lower"] is not None]
        assert len(holds) > 390
        # Of four hundred draws, three standard deviations are 0.033.
        assert np.mean(holds) > 0.917


def test_bounds_hold_in_windows_of_several_micro_batches() -> None:
    """Each has a rate of its own, and cohorts that have nothing to do with those of the others."""
    shares = [(0.5, 0.4), (0.3, 0.1), (0.3, 0.3), (0.25, 0.2)]
    parts = [Population(ALIKE, passing=0.3, spread=0.5 + 0.1 * place, level=1.0) for place in range(len(shares))]
    windows = []
    for draw in range(300):
        of_parts = enumerate(zip(parts, shares, strict=True))
        samples = [part.sample(*share, 1000 * place + draw) for place, (part, share) in of_parts]
        lists = np.sum([np.array(sample.pop("block_sums"), np.float32) for sample in samples], axis=0)
        windows.append(together(*samples) | {"block_sums": lists.tolist()})
    counts, totals = (sum(part.truth[index] for part in parts) for index in (0, 1))
    for truth, told in zip((counts, totals, totals / counts), _answered(windows, 0.1), strict=True):
        holds = [one["lower"] <= truth <= one["upper"] for one in told if one["lower"] is not None]
        assert len(holds) > 290
        # Of three hundred draws, three standard deviations are 0.038.
        assert 0.912 < np.mean(holds) < 0.99


def test_sums_too_large_for_their_cohorts_have_no_bounds() -> None:
    population, share, rate = POPULATIONS["blocks differ"]
    window = population.sample(share, rate, 1)
    lists = np.array(window["block_sums"], np.float32)
    lists[2::4] = np.inf
    counts, sums, averages = _answered([window | {"block_sums": lists.tolist()}], rate)
    assert counts[0]["upper"] is not None
    for [told] in (sums, averages):
        assert (told["lower"], told["upper"], told["low"]) == (None, None, True)


def test_bounds_as_of_rows_fail_where_the_rows_of_a_block_are_alike() -> None:
    population, share, rate = POPULATIONS["rows of each are alike"]
    blind = [{**population.sample(share, rate, draw), "block_sums": None} for draw in range(200)]
    shed = [ShedInterval(stream="s", start=0, until=10, sampling_rates={"7.0": rate})]
    for output, truth in zip(_OUTPUTS, population.truth, strict=True):
        told = pa.Table.from_batches(Answering([output], 0.95).answers(partials(*blind), shed)).to_pylist()
        assert np.mean([one["lower"] <= truth <= one["upper"] for one in told]) < 0.5


def test_estimates_are_right_on_average() -> None:
    population, share, rate = POPULATIONS["blocks differ"]
    counts, sums, _ = ([one["value"] for one in told] for told in _answers(population, share, rate, draws=400))
    for values, truth in zip((counts, sums), population.truth, strict=False):
        assert abs(np.mean(values) - truth) < 4 * np.std(values) / np.sqrt(len(values))


def test_the_number_of_rows_read_is_no_matter_of_chance() -> None:
    """A count of all rows is off only as far as one block more or less is read."""
    population = Population(ALIKE, passing=1.0, spread=0.0, level=0.0)
    counts = [one["value"] for one in _answers(population, 0.3, 0.3, draws=50)[0]]
    assert np.std(counts) / population.truth[0] < 0.001


def test_few_blocks_are_told_to_be_few() -> None:
    sparse = Population(np.full(400, 100), passing=0.02, spread=12.0, level=0.0)
    for told in _answers(sparse, 0.05, 0.05, draws=50):
        assert all(one["low"] for one in told)
        assert any(one["upper"] is None for one in told)


def test_a_group_of_which_no_block_that_was_read_has_rows_has_no_upper_bound() -> None:
    """All of those that are there came in a micro-batch that read every block."""
    output = Output("q", "s", "n", Shape(AggregateKind.COUNT, True, None, (Notation.TEXT,)), 7, 0)
    window = kept(1.0, np.ones(5)) | {"key_text": "rare", "block_sums": None}
    interval = ShedInterval(stream="s", start=0, until=10, sampling_rates={"7.0": 0.1}, in_blocks=True)
    [batch] = Answering([output], 0.95).answers(partials(window), [interval])
    [told] = batch.to_pylist()
    assert (told["key"], told["value"], told["exact"]) == (["rare"], 5.0, False)
    assert (told["lower"], told["upper"], told["low"]) == (5.0, None, True)


def test_a_window_that_was_not_seen_has_no_upper_bound() -> None:
    nothing = {"rows": 0, "present": 0, "rows_weighted": 0.0, "present_weighted": 0.0, "greatest_weight": None}
    interval = ShedInterval(stream="s", start=0, until=10, sampling_rates={"7.0": 0.1}, in_blocks=True)
    [batch] = Answering([_OUTPUTS[0]], 0.95).answers(partials(nothing), [interval])
    [told] = batch.to_pylist()
    assert (told["value"], told["lower"], told["upper"], told["low"]) == (0.0, 0.0, None, True)
