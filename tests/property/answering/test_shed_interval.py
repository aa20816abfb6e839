"""What is remembered of shed event times tells of no window a higher rate than was in force, nor a lower one."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamshed.answering.answer.answering import Answering
from streamshed.answering.table.output import Output, Shape
from streamshed.answering.table.shed_interval import MOST_REMEMBERED, UNSETTLED, ShedInterval, remembered
from streamshed.network.terms.aggregate import AggregateKind
from tests.unit.answering.partials import SECOND, kept, partials

VALUES = ("7.0", "8.0")
RATES = st.dictionaries(st.sampled_from(VALUES), st.sampled_from((0.0, 0.01, 0.1, 0.5, 0.9)), min_size=1)


@st.composite
def intervals(draw: st.DrawFn) -> ShedInterval:
    start = draw(st.integers(0, 400))
    until = draw(st.one_of(st.just(UNSETTLED), st.integers(start, start + 40)))
    return ShedInterval(stream=draw(st.sampled_from("ab")), start=start, until=until, sampling_rates=draw(RATES))


def least(shed: list[ShedInterval], stream: str, value: str, start: int, end: int) -> float:
    """The least rate in a window, by looking at every interval."""
    return min(
        (
            one.sampling_rates.get(value, 1.0)
            for one in shed
            if one.stream == stream and end > one.start and start <= one.until
        ),
        default=1.0,
    )


@given(st.lists(intervals(), max_size=60), st.integers(0, 400), st.integers(1, 60), st.booleans())
def test_of_each_window_the_least_rate_is_remembered(
    shed: list[ShedInterval], start: int, size: int, one_by_one: bool
) -> None:
    since = start
    found: tuple[ShedInterval, ...] = ()
    for newest in shed if one_by_one else ():
        found = remembered((*found, newest), since=since)
    found = found if one_by_one else remembered(shed, since=since)
    for stream in "ab":
        own = [one for one in found if one.stream == stream]
        assert all(earlier.until < later.start for earlier, later in itertools.pairwise(own))
        assert len(own) <= MOST_REMEMBERED
        for value in VALUES:
            told, in_force = (least(some, stream, value, start, start + size) for some in (list(found), shed))
            assert told <= in_force
            if 2 * len(shed) <= MOST_REMEMBERED:
                assert told == in_force


def test_however_many_rates_there_were_few_intervals_are_remembered_and_the_deepest_exactly() -> None:
    """Hundreds of rates in turn, and for one micro-batch in between hardly any row."""
    rates = [0.01 if second == 250 else 0.5 + 0.001 * (second % 7) for second in range(500)]
    found: tuple[ShedInterval, ...] = ()
    for second, rate in enumerate(rates):
        newest = ShedInterval(stream="s", start=second, until=second, sampling_rates={"7.0": rate})
        found = remembered((*found, newest), since=0)
    assert len(found) == MOST_REMEMBERED
    assert [(one.start, one.until) for one in found if one.sampling_rates["7.0"] == 0.01] == [(250, 250)]


def _relative_width(rates: list[float], rows: int, chance: np.random.Generator) -> float:
    """Mean width of counts by the mean of what it would be if all was remembered, a window per second and rate."""
    shed: tuple[ShedInterval, ...] = ()
    for second, rate in enumerate(rates):
        shed = remembered((*shed, _in_force(second, rate)), since=0)
    shape = Shape(AggregateKind.COUNT, counts_rows=True, value=None, key_notations=())
    answering = Answering([Output("q", "s", "n", shape, definition_id=7, slot=0)], confidence=0.95)
    windows = [
        {
            **kept(rate, np.ones(chance.binomial(rows, rate))),
            "window_start": second * SECOND,
            "window_end": (second + 1) * SECOND,
        }
        for second, rate in enumerate(rates)
    ]
    widths = _widths(answering, windows, shed)
    ideal = [
        _widths(answering, [window], [_in_force(second, rates[second])])[0] for second, window in enumerate(windows)
    ]
    return float(np.mean(widths) / np.mean(ideal))


def _in_force(second: int, rate: float) -> ShedInterval:
    return ShedInterval(
        stream="s", start=second * SECOND, until=(second + 1) * SECOND - 1, sampling_rates={"7.0": rate}
    )


def _widths(answering: Answering, windows: list[dict[str, Any]], shed: Sequence[ShedInterval]) -> list[float]:
    [answers] = answering.answers(partials(*windows), shed)
    return [row["upper"] - row["lower"] for row in answers.to_pylist()]


@pytest.mark.parametrize("changes", [33, 64, 200])
def test_counts_after_many_rates_are_nearly_as_narrow_as_if_all_were_remembered(changes: int) -> None:
    chance = np.random.default_rng(changes)
    drifting = np.clip(0.3 * np.exp(np.cumsum(chance.normal(0.0, 0.15, changes))), 0.01, 0.9)
    falling = 0.5 - 0.002 * (np.arange(changes) % 100)
    for rates in (drifting, falling):
        assert _relative_width(rates.tolist(), 200, chance) <= 1.1


def test_counts_after_one_deep_cut_are_as_narrow_as_their_own_rate_allows() -> None:
    """A micro-batch at 0.01, then twenty at 0.5: of these, a second each, the bounds are those of 0.5."""
    chance, rows = np.random.default_rng(3), 200
    shed: tuple[ShedInterval, ...] = ()
    for second, rate in enumerate([0.01, *[0.5] * 20]):
        shed = remembered(
            (
                *shed,
                ShedInterval(
                    stream="s", start=second * SECOND, until=(second + 1) * SECOND, sampling_rates={"7.0": rate}
                ),
            ),
            since=0,
        )
    windows = [
        {**kept(0.5, np.ones(sample)), "window_start": second * SECOND, "window_end": (second + 1) * SECOND}
        for second in range(2, 21)
        for sample in chance.binomial(rows, 0.5, 20)
    ]
    shape = Shape(AggregateKind.COUNT, counts_rows=True, value=None, key_notations=())
    answering = Answering([Output("q", "s", "n", shape, definition_id=7, slot=0)], confidence=0.95)
    [answers] = answering.answers(partials(*windows), shed)
    widths = [row["upper"] - row["lower"] for row in answers.to_pylist()]
    ideal = 2 * 1.959964 * np.sqrt(rows * (1 - 0.5) / 0.5)
    assert np.mean(widths) <= 1.1 * ideal


def test_where_blocks_were_left_unread_is_remembered() -> None:
    rows = ShedInterval(stream="s", start=0, until=20, sampling_rates={"7.0": 0.5})
    blocks = ShedInterval(stream="s", start=10, until=30, sampling_rates={"7.0": 0.5}, in_blocks=True)
    pieces = remembered([rows, blocks], since=0)
    assert [(piece.start, piece.until, piece.in_blocks) for piece in pieces] == [(0, 9, False), (10, 30, True)]
    long_ago = [replace(rows, start=10 * n, until=10 * n + 5) for n in range(2 * MOST_REMEMBERED)]
    some = remembered([replace(one, in_blocks=not n % 3) for n, one in enumerate(long_ago)], since=0)
    assert len(some) == MOST_REMEMBERED
    assert all(any(one.in_blocks and one.start <= at <= one.until for one in some) for at in range(0, 1000, 30))
