"""Quantiles of windows: exact of few values, within their bounds of many, and of samples as often as they say."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from datasketches import kll_doubles_sketch
from hypothesis import given
from hypothesis import strategies as st

from streamshed.answering.answer.answering import SAMPLED, SKETCHED, Answering
from streamshed.answering.table.incomplete import PARTLY_JOINED
from streamshed.answering.table.output import Output, Shape
from streamshed.answering.table.shed_interval import ShedInterval
from streamshed.answering.table.value_kind import Carriage, Notation, ValueKind
from streamshed.answering.table.window_partials import WindowPartials
from streamshed.network.terms.aggregate import AggregateKind
from tests.thoroughness import share_of
from tests.unit.answering.partials import kept, partials, together

SKETCH_SIZE = 400
VALUES = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=SKETCH_SIZE)
SHARES = st.floats(0.01, 0.99)
NUMBER = ValueKind(Carriage.DOUBLE, Notation.NUMBER)
WRITTEN = pa.list_(pa.struct([("weight", pa.float64()), ("sketch", pa.binary())]))


Values = npt.NDArray[np.float64]


def _sketch(values: npt.ArrayLike) -> bytes:
    sketch = kll_doubles_sketch(SKETCH_SIZE)
    sketch.update(np.asarray(values, np.float64))
    return bytes(sketch.serialize())


def _merged(slices: Sequence[npt.ArrayLike]) -> bytes:
    """What comes of the sketches of slices that are merged one by one, written and read again."""
    merged = kll_doubles_sketch(SKETCH_SIZE)
    for values in slices:
        merged.merge(kll_doubles_sketch.deserialize(_sketch(values)))
        merged = kll_doubles_sketch.deserialize(merged.serialize())
    return bytes(merged.serialize())


def _window(*slices: tuple[float, npt.ArrayLike]) -> dict[str, Any]:
    """The partials of a window of slices, each of rows kept with a rate of its own; of rate 1 there is one at most."""
    return together(*(kept(rate, values) for rate, values in slices)) | {
        "sketch": next((_sketch(values) for rate, values in slices if rate == 1), None),
        "sampled_sketches": [{"weight": 1 / rate, "sketch": _sketch(values)} for rate, values in slices if rate < 1],
    }


def _answers(
    share: float,
    *windows: dict[str, Any],
    confidence: float = 0.95,
    in_cohorts: bool = False,
    partly_joined: Sequence[ShedInterval] = (),
    value: ValueKind = NUMBER,
) -> list[dict[str, Any]]:
    usual = partials(*({name: value for name, value in one.items() if "sketch" not in name} for one in windows))
    columns = {
        **dict(zip(usual.columns.schema.names, usual.columns.columns, strict=True)),
        "sketch": pa.array([one["sketch"] for one in windows], pa.binary()),
        "sampled_sketches": pa.array([one["sampled_sketches"] for one in windows], WRITTEN),
    }
    shape = Shape(AggregateKind.QUANTILE, False, value, (), share=share, in_cohorts=in_cohorts)
    answering = Answering([Output("q", "s", "a", shape, definition_id=7, slot=0)], confidence=confidence)
    [answers] = answering.answers(WindowPartials(pa.RecordBatch.from_pydict(columns)), partly_joined=partly_joined)
    return list(answers.to_pylist())


@given(values=VALUES, share=SHARES)
def test_of_few_values_it_is_the_value_of_that_rank(values: list[float], share: float) -> None:
    [answer] = _answers(share, _window((1.0, values)))
    exact = float(np.quantile(values, share, method="inverted_cdf"))
    assert (answer["exact"], answer["reason"], answer["low"]) == (True, None, False)
    assert answer["value"] == answer["lower"] == answer["upper"] == pytest.approx(exact)


@given(values=st.lists(st.integers(-(2**62), 2**62), min_size=1, max_size=9), share=SHARES, scale=st.integers(0, 4))
def test_integers_that_doubles_do_not_tell_apart_are_not_called_exact(
    values: list[int], share: float, scale: int
) -> None:
    """Decimals are integers, too, of so many digits behind the point."""
    numbers = [value / 10**scale for value in values]
    kind = ValueKind(Carriage.DECIMAL, Notation.NUMBER, scale) if scale else ValueKind(Carriage.LONG, Notation.NUMBER)
    [answer] = _answers(share, _window((1.0, numbers)), value=kind)
    exact = sorted(values)[math.ceil(share * len(values) - 1e-9) - 1]
    assert answer["exact"] == (abs(answer["value"]) * 10**scale < 2**53)
    lower, upper = Fraction(answer["lower"]), Fraction(answer["upper"])
    assert lower <= Fraction(exact, 10**scale) <= upper or answer["exact"]
    assert not answer["exact"] or round(answer["value"] * 10**scale) == exact


@cache
def _of_many_values() -> list[tuple[Values, dict[str, Any]]]:
    """The values of windows, and their partials."""
    chance = np.random.default_rng(2)
    drawn = [chance.lognormal(0, 1, 20_000) for _ in range(30)]
    return [(values, _window((1.0, values))) for values in drawn]


@pytest.mark.parametrize("share", [0.01, 0.5, 0.99])
def test_of_many_values_it_lies_within_its_bounds_and_is_not_called_exact(share: float) -> None:
    windows, found = zip(*_of_many_values(), strict=True)
    answers = _answers(share, *found)
    held = 0
    for answer, values in zip(answers, windows, strict=True):
        assert (answer["exact"], answer["reason"]) == (False, SKETCHED)
        assert (answer["sampling_rate"], answer["low"]) == (1.0, False)
        assert answer["lower"] < answer["upper"]
        held += answer["lower"] <= np.quantile(values, share, method="inverted_cdf") <= answer["upper"]
    assert held >= 29, "of thirty, at 99 %"


@cache
def _samples_of(rows: int, repeats: int) -> tuple[Values, list[dict[str, Any]]]:
    """All values of a window, and windows of samples of it.

    The rate changes in the window, from all of the rows to a half to a twentieth.
    """
    chance = np.random.default_rng(5)
    slices = [chance.lognormal(mean, 1, rows) for mean in (0.0, 0.4, -0.3)]
    rates = (1.0, 0.5, 0.05)
    windows = [
        _window(*((rate, values[chance.random(rows) < rate]) for rate, values in zip(rates, slices, strict=True)))
        for _ in range(repeats)
    ]
    return np.concatenate(slices), windows


@pytest.mark.parametrize("rows", [2000, 20_000])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.95])
def test_of_samples_the_bounds_hold_as_often_as_they_say(share: float, rows: int) -> None:
    repeats = share_of(300)
    values, windows = _samples_of(rows, repeats)
    truth = float(np.quantile(values, share, method="inverted_cdf"))
    answers = _answers(share, *windows)
    held = np.mean([(one["lower"] or -np.inf) <= truth <= (one["upper"] or np.inf) for one in answers])
    assert held >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / repeats)
    assert all((one["exact"], one["reason"]) == (False, SAMPLED) for one in answers)


RISING = {
    "all, then a fifth": [(1.0, 300, 0, 1), (0.2, 120, 10, 20)],
    "all, then a tenth": [(1.0, 350, 0, 1), (0.1, 100, 10, 20)],
    "all of most": [(1.0, 380, 0, 1), (0.2, 70, 10, 20)],
    "a half, then a tenth": [(0.5, 760, 0, 1), (0.1, 150, 10, 20)],
    "a half, then a twentieth": [(0.5, 4800, 0, 1), (0.05, 600, 10, 20)],
    "more than a sketch holds": [(1.0, 5000, 0, 1), (0.1, 400, 10, 20)],
}
"""Slices with lower rates for larger values: rate, rows, least and greatest value."""


@pytest.mark.parametrize("name", RISING)
@pytest.mark.parametrize("share", [0.5, 0.9, 0.95])
def test_where_rates_fell_as_values_rose_bounds_hold_as_often_as_they_say(name: str, share: float) -> None:
    """All rows below a high quantile were kept at one rate, and those above it at another."""
    chance, repeats = np.random.default_rng(1), share_of(400)
    slices = [(rate, chance.uniform(least, greatest, rows)) for rate, rows, least, greatest in RISING[name]]
    truth = float(np.quantile(np.concatenate([values for _, values in slices]), share, method="inverted_cdf"))
    windows = [
        _window(*((rate, values[chance.random(len(values)) < rate]) for rate, values in slices)) for _ in range(repeats)
    ]
    answers = _answers(share, *windows)
    holds = np.array([(one["lower"] or -np.inf) <= truth <= (one["upper"] or np.inf) for one in answers])
    assert holds.mean() >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / repeats)


def test_rows_that_were_all_kept_do_not_make_up_for_few_on_the_rarer_side() -> None:
    """Above the quantile are 12 of 240 rows: all of 48 kept at a quarter, or as much as three rows of these."""
    lower, upper = np.linspace(0, 1, 192), np.linspace(10, 20, 12)
    [few], [enough] = (
        _answers(0.95, _window((1.0, lower), (0.25, upper))),
        _answers(0.9, _window((1.0, lower), (0.25, upper))),
    )
    assert (few["rows_used"], few["low"]) == (204, True)
    assert (enough["rows_used"], enough["low"]) == (204, False)


@given(
    sizes=st.lists(st.integers(1, 3000), min_size=1, max_size=12),
    share=SHARES,
    seed=st.integers(0, 2**32 - 1),
    shift=st.floats(0, 3),
)
def test_of_merged_sketches_it_has_the_rank_that_was_asked_for(
    sizes: list[int], share: float, seed: int, shift: float
) -> None:
    """Whichever levels of the sketch merging has emptied."""
    chance = np.random.default_rng(seed)
    slices = [chance.normal(shift * number, 1, size) for number, size in enumerate(sizes)]
    values = np.concatenate(slices)
    [answer] = _answers(share, kept(1.0, values) | {"sketch": _merged(slices), "sampled_sketches": []})
    off = 3 * kll_doubles_sketch.get_normalized_rank_error(SKETCH_SIZE, False) + 1 / len(values)
    below, up_to = np.mean(values < answer["value"]), np.mean(values <= answer["value"])
    assert below - off <= share <= up_to + off
    assert answer["lower"] <= answer["value"] <= answer["upper"]


@pytest.mark.parametrize("share", [0.1, 0.5, 0.95])
def test_of_merged_sketches_of_samples_the_bounds_hold_as_often_as_they_say(share: float) -> None:
    """Ten slices, of each other one about a half of the rows."""
    chance = np.random.default_rng(11)
    slices = [chance.normal(0 if number < 5 else 3, 1, 2000) for number in range(10)]
    rate, repeats = 0.487, share_of(300)
    truth = float(np.quantile(np.concatenate(slices), share, method="inverted_cdf"))
    windows = []
    for _ in range(repeats):
        whole, sampled = slices[::2], [values[chance.random(len(values)) < rate] for values in slices[1::2]]
        usual = together(kept(1.0, np.concatenate(whole)), kept(rate, np.concatenate(sampled)))
        of_sample = [{"weight": 1 / rate, "sketch": _merged(sampled)}]
        windows.append(usual | {"sketch": _merged(whole), "sampled_sketches": of_sample})
    answers = _answers(share, *windows)
    held = np.mean([one["lower"] <= truth <= one["upper"] for one in answers])
    assert held >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / repeats)


def test_of_few_rows_kept_it_says_so_and_bounds_only_what_it_knows() -> None:
    [answer] = _answers(0.99, _window((0.1, [1.0, 2.0, 3.0, 4.0])))
    assert answer["low"]
    assert answer["value"] == 4.0
    assert (answer["upper"], answer["standard_error"]) == (None, None)
    assert answer["lower"] is None or answer["lower"] <= 4.0


def test_of_nothing_it_is_null() -> None:
    [answer] = _answers(0.5, _window((1.0, [])))
    assert (answer["value"], answer["lower"], answer["upper"], answer["exact"]) == (None, None, None, True)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.95])
def test_of_a_sampled_join_bounds_would_not_hold_and_none_are_given(share: float) -> None:
    """Fifty pairs come with each row that is drawn, and are alike: bounds of so many rows by themselves are lies."""
    chance = np.random.default_rng(7)
    rows, pairs, rate, repeats = 200, 50, 0.2, 200
    values = chance.lognormal(0, 1, rows)
    truth = float(np.quantile(values, share, method="inverted_cdf"))
    samples = [np.repeat(values[chance.random(rows) < rate], pairs) for _ in range(repeats)]
    windows = [_window((rate, sample)) for sample in samples]
    alone, of_rows = _answers(share, *windows), _answers(share, *windows, in_cohorts=True)
    held = np.mean([(one["lower"] or -np.inf) <= truth <= (one["upper"] or np.inf) for one in alone])
    assert held < 0.5
    assert not any(one["low"] for one in alone)
    assert [one["value"] for one in of_rows] == [one["value"] for one in alone]
    for one in of_rows:
        assert (one["lower"], one["upper"], one["standard_error"]) == (None, None, None)
        assert (one["exact"], one["low"], one["reason"]) == (False, True, SAMPLED)


@given(values=VALUES, share=SHARES, rate=st.floats(0.01, 0.99), share_found=st.floats(0.01, 0.99))
def test_of_a_join_whatever_is_not_all_of_it_is_never_called_exact_or_bounded(
    values: list[float], share: float, rate: float, share_found: float
) -> None:
    whole, sampled = _window((1.0, values)), _window((rate, values))
    part = ShedInterval(stream="s", start=0, until=1, sampling_rates={"7.0": share_found})
    of_all, of_sample = _answers(share, whole, sampled, in_cohorts=True)
    [in_part] = _answers(share, whole, partly_joined=[part])
    assert (of_all["exact"], of_all["low"]) == (True, False)
    assert of_all["lower"] == of_all["value"] == of_all["upper"]
    assert (of_sample["reason"], of_sample["low"]) == (SAMPLED, True)
    assert (in_part["reason"], in_part["sampling_rate"]) == (PARTLY_JOINED, pytest.approx(share_found))
    for one in (of_sample, in_part):
        assert (one["lower"], one["upper"], one["standard_error"], one["exact"]) == (None, None, None, False)
