import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamshed.control.regulator import Regulator, RegulatorSettings


def fed(regulator: Regulator, errors: list[float]) -> list[float]:
    """Return the corrections in force while the model is off by the given factors."""
    corrections = []
    for error in errors:
        corrections.append(regulator.correction)
        regulator = regulator.updated(measured_seconds=error, predicted_seconds=1.0, correction=regulator.correction)
    return corrections


@pytest.mark.parametrize("error", [0.8, 1.25])
def test_a_lasting_error_is_corrected_without_overshoot(error: float) -> None:
    corrections = fed(Regulator(RegulatorSettings()), [error] * 20)
    assert corrections[-1] == pytest.approx(error, rel=1e-3)
    assert all(abs(math.log(c)) <= abs(math.log(error)) * 1.01 for c in corrections)


def test_the_correction_goes_when_the_error_goes() -> None:
    corrections = fed(Regulator(RegulatorSettings()), [1.25] * 20 + [1.0] * 20)
    assert corrections[-1] == pytest.approx(1.0, abs=1e-3)


def test_one_outlier_contributes_no_more_than_the_largest_error() -> None:
    corrections = fed(Regulator(RegulatorSettings()), [1.0, 10.0, 1.0, 1.0, 1.0])
    assert max(corrections) <= 1.5**0.45 * (1 + 1e-9)
    assert corrections[-1] < 1.1


@given(st.lists(st.floats(0.01, 100), max_size=60))
def test_the_correction_never_winds_up_beyond_its_limit(errors: list[float]) -> None:
    settings = RegulatorSettings()
    corrections = fed(Regulator(settings), [*errors, 1.0])
    limit = settings.largest_correction
    assert all(1 / limit * (1 - 1e-9) <= correction <= limit * (1 + 1e-9) for correction in corrections)


def test_a_gain_of_almost_two_rings() -> None:
    ringing = RegulatorSettings(proportional_gain=0.0, integral_gain=1.9)
    logs = [math.log(correction) for correction in fed(Regulator(ringing), [1.05] * 12)]
    above = [log > math.log(1.05) for log in logs[1:]]
    assert all(one != other for one, other in itertools.pairwise(above))


@pytest.mark.parametrize("wrong", [{"proportional_gain": -0.1}, {"integral_gain": -1}, {"largest_error": 1.0}])
def test_settings_that_cannot_be_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="regulator"):
        RegulatorSettings(**wrong)
