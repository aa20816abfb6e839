"""Sampling rates, and shares of work, in 32 steps a decade, so that few of them ever stand in a state key."""

import math
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

STEPS_PER_DECADE = 32
WHOLE = 0
"""The code of sampling rate 1: nothing is shed."""
SMALLEST = 255
"""The largest code, and the smallest sampling rate: about one row in a hundred million."""


def sampling_rate_of(code: int) -> float:
    """Return the sampling rate 10^(−code/32) of a code.

    Raises:
        ValueError: The code is outside 0 to 255.

    Example:
        >>> sampling_rate_of(0), sampling_rate_of(32), round(sampling_rate_of(1), 4)
        (1.0, 0.1, 0.9306)
    """
    if not WHOLE <= code <= SMALLEST:
        raise ValueError(f"sampling code must be in {WHOLE} to {SMALLEST}, got {code}")
    return float(10.0 ** (-code / STEPS_PER_DECADE))


def code_of_at_least(sampling_rate: float) -> int:
    """Return the code of the smallest representable sampling rate that is no less than `sampling_rate`.

    Example:
        >>> code_of_at_least(1.0), code_of_at_least(0.5), round(sampling_rate_of(code_of_at_least(0.5)), 4)
        (0, 9, 0.5233)
        >>> all(code_of_at_least(sampling_rate_of(code)) == code for code in range(256))
        True
    """
    code = code_of(sampling_rate)
    return code if sampling_rate_of(code) >= sampling_rate else code - 1


def code_of(sampling_rate: float) -> int:
    """Return the code of the largest representable sampling rate that does not exceed `sampling_rate`.

    Rounding goes down, so a quantized plan never exceeds the budget it was solved for. Below the smallest
    representable rate, that one is returned.

    Example:
        >>> code_of(1.0), code_of(0.5), round(sampling_rate_of(code_of(0.5)), 4)
        (0, 10, 0.487)
        >>> all(code_of(sampling_rate_of(code)) == code for code in range(256))
        True
    """
    if sampling_rate >= 1:
        return WHOLE
    if sampling_rate <= sampling_rate_of(SMALLEST):
        return SMALLEST
    code = math.ceil(-STEPS_PER_DECADE * math.log10(sampling_rate))
    # The logarithm may be off by one unit in the last place, on either side of a step.
    if sampling_rate_of(code) > sampling_rate:
        return code + 1
    return code - 1 if sampling_rate_of(code - 1) <= sampling_rate else code


def codes_of(sampling_rates: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Return `code_of` of each sampling rate; that of 0 is the largest.

    Example:
        >>> codes_of(np.array([1.0, 0.5, 0.0])).tolist()
        [0, 10, 255]
    """
    codes: npt.NDArray[np.int64] = len(_ASCENDING) - np.searchsorted(_ASCENDING, sampling_rates, side="right")
    return np.minimum(codes, SMALLEST)


def sampling_rates_of(codes: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Return `sampling_rate_of` of each code."""
    sampling_rates: npt.NDArray[np.float64] = _RATES[codes]
    return sampling_rates


def work_share(work_code: int, least_share: float) -> float:
    """Return the share of all work on a stream's rows that is done: L + (1 − L)·P.

    Args:
        work_code: That of P, the share of the work that may be shed which is done all the same.
        least_share: L, the share of all work that nothing may shed.

    Example:
        Half of the work is for queries that need every row; of the rest a tenth is done.

        >>> round(work_share(32, 0.5), 3), work_share(0, 0.1)
        (0.55, 1.0)
    """
    return 1.0 if work_code == WHOLE else least_share + (1 - least_share) * sampling_rate_of(work_code)


def work_shares(work_codes: Mapping[str, int], least_shares: Mapping[str, float]) -> dict[str, float]:
    """Return `work_share` of every stream; of one whose least share is not told, all may be shed."""
    return {stream: work_share(code, least_shares.get(stream, 0.0)) for stream, code in work_codes.items()}


_RATES = np.array([sampling_rate_of(code) for code in range(SMALLEST + 1)])
_ASCENDING = _RATES[::-1].copy()
