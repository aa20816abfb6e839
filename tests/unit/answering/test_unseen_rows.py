"""What came at a rate at which no row was kept is granted to sums and averages, as it is to counts."""

import math
from typing import Any

import pytest

from streamshed.answering.answer.answering import Answering
from streamshed.answering.table.output import Output, Shape
from streamshed.answering.table.shed_interval import ShedInterval
from streamshed.answering.table.value_kind import Carriage, Notation, ValueKind
from streamshed.network.terms.aggregate import AggregateKind
from tests.unit.answering.partials import kept, partials, together

NUMBER = ValueKind(Carriage.DOUBLE, Notation.NUMBER)
AT_A_QUARTER, AT_A_TENTH = math.log(40) / 0.25, math.log(40) / 0.1


def told(function: AggregateKind, window: dict[str, Any], rate: float, *, counts_rows: bool = False) -> dict[str, Any]:
    """The answer of a window in which a rate was in force."""
    shape = Shape(function, counts_rows=counts_rows, value=NUMBER, key_notations=())
    shed = [ShedInterval(stream="s", start=0, until=10, sampling_rates={"7.0": rate})]
    [table] = Answering([Output("q", "s", "a", shape, 7, 0)], confidence=0.95).answers(partials(window), shed)
    answer: dict[str, Any]
    [answer] = table.to_pylist()
    return answer


@pytest.mark.parametrize(("sign", "side", "other"), [(1, "upper", "lower"), (-1, "lower", "upper")])
def test_a_sum_of_one_sign_may_be_as_much_larger(sign: int, side: str, other: str) -> None:
    window = kept(0.5, [sign * 1.0, sign * 3.0] * 50)
    seen, unseen = told(AggregateKind.SUM, window, 0.5), told(AggregateKind.SUM, window, 0.25)
    assert unseen["value"] == seen["value"] == sign * 400
    assert unseen[side] - seen[side] == pytest.approx(sign * 3 * AT_A_QUARTER)
    assert unseen[other] == seen[other]
    assert not unseen["low"]


def test_an_average_may_be_nearer_to_either_extreme() -> None:
    window = kept(0.5, [1.0, 3.0] * 50)
    seen, unseen = told(AggregateKind.AVG, window, 0.5), told(AggregateKind.AVG, window, 0.25)
    share = AT_A_QUARTER / (200 + AT_A_QUARTER)
    assert unseen["upper"] - seen["upper"] == pytest.approx(share)
    assert seen["lower"] - unseen["lower"] == pytest.approx(share)


@pytest.mark.parametrize("function", [AggregateKind.SUM, AggregateKind.AVG, AggregateKind.STDDEV])
def test_it_is_low_if_it_were_with_one_row_kept_at_that_rate(function: AggregateKind) -> None:
    """A row at 0.1 weighs (1 − P)/P² = 90, against 2 of each of 200 at a half."""
    window = kept(0.5, [0.5, 1.0, 2.0, 3.0] * 50)
    assert [told(function, window, rate)["low"] for rate in (0.5, 0.49, 0.1)] == [False, False, True]


def test_a_row_without_a_value_tells_nothing_of_those_with_one() -> None:
    window = kept(0.5, [-1.0, 3.0] * 50)
    with_others = together(window, kept(0.1, [], nulls=20))
    seen, unseen = told(AggregateKind.SUM, window, 0.1), told(AggregateKind.SUM, with_others, 0.1)
    assert (unseen["lower"], unseen["upper"]) == (seen["lower"], seen["upper"])
    assert unseen["upper"] > 200 + 3 * AT_A_TENTH
    assert unseen["lower"] < 200 - AT_A_TENTH


def counted(rows: float) -> dict[str, float]:
    """So many rows came to a function, of which 600 at a quarter are in the sample."""
    excess = (1 - 0.25) / 0.25**2
    sampled = {"sampled_excess": 600 * excess, "sampled_excess_squared": 600 * excess**2, "sampled_weighted": 2400.0}
    return {"counted_weighted": rows, "counted_excess": 0.0, **sampled}


def test_what_was_counted_corrects_no_sum_of_which_rows_may_be_missing() -> None:
    alone = kept(0.25, [1.0] * 300)
    window = alone | counted(2500)
    assert told(AggregateKind.SUM, window, 0.25)["value"] == pytest.approx(1250)
    assert told(AggregateKind.SUM, window, 0.1) == told(AggregateKind.SUM, alone, 0.1)


def test_a_count_of_rows_is_corrected_though_none_has_a_value() -> None:
    window = kept(0.25, [], nulls=300) | {"rows_excess_squared": 300 * 12.0**2} | counted(2500)
    assert told(AggregateKind.COUNT, window, 0.25, counts_rows=True)["value"] == pytest.approx(1250)
