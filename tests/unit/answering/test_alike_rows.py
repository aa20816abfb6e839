"""Where all rows kept are alike, the past tells how far off the others may be."""

import math
from dataclasses import asdict, replace
from typing import Any

import pytest

from streamshed.answering.answer.answering import Answering
from streamshed.answering.estimate.value_ranges import UsualRange
from streamshed.answering.table.output import Output, Shape
from streamshed.answering.table.shed_interval import ShedInterval
from streamshed.answering.table.value_kind import Carriage, Notation, ValueKind
from streamshed.network.terms.aggregate import AggregateKind
from tests.unit.answering.partials import kept, partials, together

USUAL = UsualRange(distance=2.0, ranged=20.0, below=0.0, above=3.0, sized=20.0)
GRANTED = math.log(40) / 0.1
SHARE = GRANTED / 400
SPREADS = {
    AggregateKind.VAR_POP: 4 * SHARE,
    AggregateKind.VARIANCE: 4 * SHARE * 400 / 399,
    AggregateKind.STDDEV_POP: 2 * math.sqrt(SHARE),
    AggregateKind.STDDEV: 2 * math.sqrt(SHARE * 400 / 399),
}


def told(
    function: AggregateKind,
    window: dict[str, Any],
    usual: UsualRange | None = USUAL,
    *,
    rate: float = 0.1,
    in_cohorts: bool = False,
) -> dict[str, Any]:
    shape = Shape(function, False, ValueKind(Carriage.DOUBLE, Notation.NUMBER), (), in_cohorts=in_cohorts)
    shed = [ShedInterval(stream="s", start=0, until=10, sampling_rates={"7.0": rate})]
    ranges = {} if usual is None else {"7.0": usual}
    [table] = Answering([Output("q", "s", "a", shape, 7, 0)], 0.95).answers(partials(window), shed, usual_ranges=ranges)
    answer: dict[str, Any]
    [answer] = table.to_pylist()
    return answer


def test_an_average_of_equal_values_is_off_by_so_many_that_deviate_as_usual() -> None:
    answer = told(AggregateKind.AVG, kept(0.1, [5.0] * 40))
    assert (answer["lower"], answer["upper"]) == pytest.approx((5 - 2 * SHARE, 5 + 2 * SHARE))
    assert answer["standard_error"] == pytest.approx(2 * SHARE / 1.959964)
    assert (answer["value"], answer["low"], answer["exact"]) == (5.0, False, False)


@pytest.mark.parametrize(("function", "upper"), list(SPREADS.items()))
def test_a_spread_of_equal_values_is_no_more_than_they_make(function: AggregateKind, upper: float) -> None:
    answer = told(function, kept(0.1, [5.0] * 40))
    assert (answer["lower"], answer["upper"]) == pytest.approx((0.0, upper))
    assert (answer["value"], answer["standard_error"], answer["low"]) == (0.0, None, False)


@pytest.mark.parametrize(("below", "above"), [(0.0, 3.0), (3.0, 0.0), (3.0, 3.0)])
def test_a_sum_of_zeros_has_a_bound_on_the_sides_on_which_values_were(below: float, above: float) -> None:
    answer = told(AggregateKind.SUM, kept(0.1, [0.0] * 40), replace(USUAL, below=below, above=above))
    assert (answer["lower"], answer["upper"]) == pytest.approx((-GRANTED * below, GRANTED * above))
    assert answer["standard_error"] == pytest.approx(GRANTED * 3 / 1.959964)
    assert (answer["value"], answer["low"]) == (0.0, False)


def test_rows_that_were_certain_do_not_deviate() -> None:
    """Of 1,000 rows 600 were all kept, and tell the sum; the average may be off by fewer of them."""
    certain = kept(1.0, [5.0] * 600)
    answer = told(AggregateKind.AVG, together(certain, kept(0.1, [5.0] * 40)))
    assert answer["upper"] == pytest.approx(5 + 2 * GRANTED / 1000)
    answer = told(AggregateKind.SUM, together(certain, kept(0.1, [0.0] * 40)))
    assert (answer["lower"], answer["upper"]) == pytest.approx((3000, 3000 + 3 * GRANTED))


@pytest.mark.parametrize(
    ("window", "usual", "rate"),
    [
        pytest.param(kept(0.1, [5.0] * 40), replace(USUAL, ranged=9.0), 0.1, id="few windows tell"),
        pytest.param(kept(0.1, [5.0]), USUAL, 0.1, id="one row kept"),
        pytest.param(kept(0.5, [5.0] * 40), USUAL, 0.1, id="none kept at the least rate"),
    ],
)
def test_what_few_tell_is_low(window: dict[str, Any], usual: UsualRange, rate: float) -> None:
    answer = told(AggregateKind.AVG, window, usual, rate=rate)
    assert answer["low"]
    assert answer["lower"] < 5 < answer["upper"]


def test_where_nothing_tells_there_are_no_bounds() -> None:
    window = kept(0.1, [5.0] * 40)
    for usual in (None, UsualRange(), replace(USUAL, ranged=0.0)):
        answer = told(AggregateKind.AVG, window, usual)
        assert (answer["lower"], answer["upper"], answer["standard_error"]) == (None, None, None)


@pytest.mark.parametrize("function", [AggregateKind.AVG, AggregateKind.SUM, AggregateKind.STDDEV])
def test_the_past_tells_nothing_of_samples_that_tell_it_themselves(function: AggregateKind) -> None:
    window = kept(0.1, [4.0, 5.0] * 20)
    assert told(function, window) == told(function, window, None)


def test_results_of_drawn_rows_of_a_join_are_no_rows_by_themselves() -> None:
    window = kept(0.1, [5.0] * 40) | {"cohorts": []}
    assert told(AggregateKind.AVG, window, in_cohorts=True)["lower"] is None


def test_it_is_written_as_it_is_read() -> None:
    assert UsualRange(**asdict(USUAL)) == USUAL
