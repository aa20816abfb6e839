import pytest

from streamshed.cli.demo.answers import errors_by_query, paired, window_errors
from tests.unit.cli.demo.examples import BURST, CALM, SECOND, WEB, answer, demo_pairs


def test_every_exact_value_has_its_answer_or_none() -> None:
    pairs = {(pair.truth.query, pair.truth.start // SECOND, pair.truth.key): pair for pair in demo_pairs()}
    assert len(pairs) == 5
    missing = pairs["web", 10, ("10.0.1",)]
    assert missing.answer is None
    assert missing.deviation == 100
    assert missing.is_held is None


@pytest.mark.parametrize(
    ("value", "width", "held"), [(510, 20, True), (510, 5, False), (500, 0, True), (510, None, None)]
)
def test_intervals(value: float, width: float | None, held: bool | None) -> None:
    [pair] = paired([BURST], [answer(BURST, value, width=width)])
    assert pair.is_held is held


def test_exact_and_low_answers_promise_no_interval() -> None:
    for given in (answer(BURST, 500, width=0, exact=True), answer(BURST, 500, width=9, low=True)):
        [pair] = paired([BURST], [given])
        assert pair.is_held is None


def test_right_means_equal_but_for_the_last_digits() -> None:
    [equal] = paired([BURST], [answer(BURST, 500 * (1 + 1e-12), exact=True)])
    [wrong] = paired([BURST], [answer(BURST, 500.1, exact=True)])
    assert (equal.is_right, wrong.is_right) == (True, False)


def test_the_groups_of_a_window_count_by_their_size() -> None:
    errors = {(error.query, error.start // SECOND): error for error in window_errors(demo_pairs())}
    assert errors["web", 10].error == pytest.approx((30 + 100) / 400)
    assert errors["tcp", 10].error == pytest.approx(10 / 500)
    assert (errors["tcp", 0].error, errors["tcp", 0].is_exact) == (0, True)


def test_a_window_without_anything_has_no_error() -> None:
    [nothing] = window_errors(paired([CALM], [answer(CALM, 100)]))
    assert nothing.error == 0


def test_errors_over_time() -> None:
    by_query = errors_by_query(window_errors(demo_pairs()))
    assert by_query["tcp"] == {5 * SECOND: 0.0, 15 * SECOND: pytest.approx(0.02), 25 * SECOND: 0.0}
    assert list(by_query["web"]) == [WEB[0].end]
