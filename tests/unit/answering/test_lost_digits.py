"""Where sums of powers leave no digits of the distances from the mean, no answer says how far off it is."""

from typing import Any

import numpy as np
import pytest

from streamshed.answering.answering import Answering
from streamshed.answering.output import Output, Shape
from streamshed.answering.value_kind import Carriage, Notation, ValueKind
from streamshed.network.aggregate import AggregateKind
from tests.unit.answering.partials import kept, partials

SPREADS = (AggregateKind.VARIANCE, AggregateKind.VAR_POP, AggregateKind.STDDEV, AggregateKind.STDDEV_POP)
CENTERED = (AggregateKind.AVG, *SPREADS)
UNKNOWN = (None, None, None)


def answered(function: AggregateKind, values: np.ndarray) -> dict[str, Any]:
    shape = Shape(function, counts_rows=False, value=ValueKind(Carriage.DOUBLE, Notation.NUMBER), key_notations=())
    answering = Answering([Output("q", "s", "a", shape, definition_id=7, slot=0)], confidence=0.95)
    [answers] = answering.answers(partials(kept(0.1, values.tolist())))
    [answer] = answers.to_pylist()
    return dict(answer)


def said(answer: dict[str, Any]) -> tuple[float | None, float | None, float | None]:
    return answer["lower"], answer["upper"], answer["standard_error"]


@pytest.mark.parametrize("function", CENTERED)
def test_of_times_since_1970_there_are_no_bounds(function: AggregateKind) -> None:
    answer = answered(function, 1.7e9 + np.random.default_rng(1).exponential(100.0, 400))
    assert answer["value"] > 0
    assert said(answer) == UNKNOWN


@pytest.mark.parametrize("function", CENTERED)
@pytest.mark.parametrize("law", ["normal", "exponential"])
@pytest.mark.parametrize("center", [0.0, *(10.0**power for power in range(-1, 10))])
def test_what_is_said_is_what_values_around_0_would_say(function: AggregateKind, law: str, center: float) -> None:
    around_0 = getattr(np.random.default_rng(2), law)(size=400)
    around_0 -= around_0.mean()
    answer, expected = answered(function, center + around_0), answered(function, around_0)
    assert expected["standard_error"] > 0
    if said(answer) != UNKNOWN:
        assert answer["standard_error"] == pytest.approx(expected["standard_error"], rel=1e-3)
    assert (said(answer) == UNKNOWN) == (center > (10_000.0 if function is AggregateKind.AVG else 100.0))


@pytest.mark.parametrize("function", [AggregateKind.SUM, *CENTERED])
def test_rows_that_make_no_difference_tell_nothing_of_others(function: AggregateKind) -> None:
    assert said(answered(function, np.zeros(400))) == UNKNOWN
    if function is not AggregateKind.SUM:
        assert said(answered(function, np.full(400, 7.0))) == UNKNOWN
