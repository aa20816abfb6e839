import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamshed.planning.tree.quantization import SMALLEST, code_of, codes_of, sampling_rate_of, sampling_rates_of


@given(st.floats(min_value=sampling_rate_of(SMALLEST), max_value=1.0))
def test_rounding_never_exceeds_and_loses_less_than_a_step(sampling_rate: float) -> None:
    rounded = sampling_rate_of(code_of(sampling_rate))
    assert rounded <= sampling_rate < rounded * 10 ** (1 / 32) * (1 + 1e-12)


@given(st.integers(0, SMALLEST))
def test_a_representable_rate_is_its_own_code(code: int) -> None:
    assert code_of(sampling_rate_of(code)) == code


@given(st.floats(0, 2), st.floats(0, 2))
def test_larger_rates_have_smaller_codes(one: float, other: float) -> None:
    smaller, larger = sorted((one, other))
    assert code_of(smaller) >= code_of(larger)


def test_the_smallest_rate_stands_for_all_below() -> None:
    assert code_of(0.0) == code_of(1e-30) == SMALLEST
    assert 1e-8 <= sampling_rate_of(SMALLEST) < 1.1e-8


@pytest.mark.parametrize("code", [-1, 256])
def test_codes_are_one_byte(code: int) -> None:
    with pytest.raises(ValueError, match="sampling code must be in 0 to 255"):
        sampling_rate_of(code)


@given(st.lists(st.floats(0, 1.5), min_size=1, max_size=20))
def test_many_rates_have_the_codes_that_each_has(sampling_rates: list[float]) -> None:
    exact = [sampling_rate_of(code) for code in (0, 1, 31, 32, 255)]
    rates = [*sampling_rates, *exact, *(np.nextafter(rate, 0.0) for rate in exact)]
    assert codes_of(np.array(rates)).tolist() == [code_of(rate) if rate > 0 else SMALLEST for rate in rates]
    codes = np.arange(SMALLEST + 1)
    assert sampling_rates_of(codes).tolist() == [sampling_rate_of(code) for code in codes.tolist()]
