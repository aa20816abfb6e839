from dataclasses import replace

import pytest

from streamshed.cli.demo.answers import Gap, Pair, paired
from streamshed.cli.demo.predicted import PredictionFigures, prediction_figures
from tests.unit.cli.demo.examples import SECOND, answer, truth

SLIDE = 5


def pairs_of(gaps: list[int], *, largest: float = 0.0) -> tuple[Pair, ...]:
    """Of two senders in twenty windows, one of which misses some; all on a line, but for a window that it misses."""
    values = [
        replace(
            truth(SLIDE * number, 100.0 + number + (largest if number == gaps[0] else 0), query="top", key=(key,)),
            cohort=cohort,
        )
        for number in range(20)
        for key, cohort in (("a", 1), ("b", 2))
    ]
    dropped = [Gap(query="top", start=SLIDE * number * SECOND, cohorts=frozenset({1})) for number in gaps]
    starts = {gap.start for gap in dropped}
    given = [
        answer(value, value.value, exact=True) for value in values if value.cohort == 2 or value.start not in starts
    ]
    return paired(values, given, dropped)


def test_what_is_on_a_line_is_predicted_exactly() -> None:
    found = prediction_figures(pairs_of([7, 8, 12]))
    assert found.predicted == 3
    assert found.error == pytest.approx(0, abs=1e-9)


def test_how_far_off_they_are_goes_by_the_exact_values() -> None:
    found = prediction_figures(pairs_of([7, 8], largest=30))
    assert found.predicted == 2
    assert found.error == pytest.approx(30 / (107 + 30 + 108))


def test_what_is_not_between_two_answers_is_not_predicted() -> None:
    assert prediction_figures(pairs_of([0, 1, 19])) == PredictionFigures()
    assert prediction_figures([]) == PredictionFigures()
