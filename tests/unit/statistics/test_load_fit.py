import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from streamshed.statistics.load_fit import Evidence, PriorBelief, fitted, predicted

PRIOR = PriorBelief(np.log([0.4, 5e-7, 5e-7]), np.array([1.0, 1.2, 1.2]))


def evidence(*measured: tuple[float, float, float]) -> Evidence:
    rows, kept, seconds = (np.array(column) for column in zip(*measured, strict=True))
    return Evidence(rows[:, None], kept[:, None], np.log(seconds), np.full(len(rows), 0.1))


def seconds(fixed: float, read: float, work: float, rows: float, kept: float) -> float:
    return fixed + rows * (read + work * kept)


@given(
    phi=st.tuples(st.floats(-3, 1), st.floats(-18, -11), st.floats(-18, -11)),
    rows=st.floats(0, 1e7),
    kept=st.floats(0.001, 1),
)
def test_the_gradient_is_that_of_the_prediction(phi: tuple[float, float, float], rows: float, kept: float) -> None:
    offered, sampled, mean = np.array([[rows]]), np.array([[kept]]), np.array(phi)
    _, gradient = predicted(mean, offered, sampled)
    for place, step in enumerate(np.eye(3) * 1e-5):
        higher, _ = predicted(mean + step, offered, sampled)
        lower, _ = predicted(mean - step, offered, sampled)
        assert gradient[0, place] == pytest.approx((higher[0] - lower[0]) / 2e-5, abs=1e-6)


@given(phi=st.tuples(st.floats(-3, 1), st.floats(-18, -11), st.floats(-18, -11)))
def test_the_gradient_is_that_of_the_belief(phi: tuple[float, float, float]) -> None:
    assume(abs(phi[2] - PRIOR.mean[2]) > 1e-3)  # There it has a corner.
    _, gradient = PRIOR.deviates(np.array(phi))
    for place, step in enumerate(np.eye(3) * 1e-5):
        higher, lower = (PRIOR.deviates(np.array(phi) + sign * step)[0] for sign in (1, -1))
        assert gradient[:, place] == pytest.approx((higher - lower) / 2e-5, abs=1e-6)


def test_fixed_cost_reading_and_work_are_told_apart_once_rows_and_rates_vary() -> None:
    true = (0.2, 3e-7, 2e-6)
    conditions = [(1e5, 1.0), (1e6, 1.0), (1e6, 0.1), (3e6, 0.05)] * 5
    fit = fitted(evidence(*((n, p, seconds(*true, n, p)) for n, p in conditions)), PRIOR, PRIOR.mean)
    assert np.exp(fit.mean) == pytest.approx(true, rel=0.05)


def test_while_everything_is_kept_only_the_sum_of_reading_and_work_is_known() -> None:
    """What it is more than believed is put down to either by how far each may be off."""
    whole = evidence(*((n, 1.0, seconds(0.2, 1e-6, 1e-6, n, 1.0)) for n in (1e5, 1e6, 3e6)))
    alike = fitted(whole, PRIOR, PRIOR.mean)
    assert np.exp(alike.mean[1:]) == pytest.approx([1e-6, 1e-6], rel=0.05)
    work_unknown = PriorBelief(PRIOR.mean, np.array([1.0, 0.1, 3.0]))
    fit = fitted(whole, work_unknown, PRIOR.mean)
    assert np.exp(fit.mean[1:]) == pytest.approx([5e-7, 1.5e-6], rel=0.05)


def test_one_measurement_ten_times_too_long_moves_the_fit_little() -> None:
    normal = [(1e6, 1.0, seconds(0.2, 3e-7, 2e-6, 1e6, 1.0))] * 5
    before = fitted(evidence(*normal), PRIOR, PRIOR.mean)
    after = fitted(evidence(*normal, (1e6, 1.0, 10 * normal[0][2])), PRIOR, before.mean)
    at = (np.array([[1e6]]), np.array([[1.0]]))
    assert predicted(after.mean, *at)[0] - predicted(before.mean, *at)[0] < math.log(1.1)


@given(start=st.tuples(st.floats(-7, 3), st.floats(-20, -8), st.floats(-20, -8)))
def test_the_fit_hardly_depends_on_where_it_starts(start: tuple[float, float, float]) -> None:
    conditions = [(1e5, 1.0), (1e6, 0.3), (2e6, 0.1)]
    measured = evidence(*((n, p, seconds(0.2, 3e-7, 2e-6, n, p)) for n, p in conditions))
    reference, other = fitted(measured, PRIOR, PRIOR.mean), fitted(measured, PRIOR, np.array(start))
    assert other.cost == pytest.approx(reference.cost, abs=0.01)
