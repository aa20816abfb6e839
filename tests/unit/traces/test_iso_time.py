from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from streamshed.traces.errors import InvalidTraceError
from streamshed.traces.iso_time import iso_times

YEAR_10000 = 253_402_300_800_000_000
YEAR_1 = -62_135_596_800_000_000


def test_no_times_no_text() -> None:
    assert iso_times(np.array([], dtype=np.int64)).to_pylist() == []


@pytest.mark.parametrize("microseconds", [0, -1, 999_999, 1_100_000_000_000_000, YEAR_1, YEAR_10000 - 1])
def test_text_is_that_of_datetime(microseconds: int) -> None:
    expected = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=microseconds)
    text = iso_times(np.array([microseconds])).to_pylist()[0]
    assert datetime.fromisoformat(text) == expected
    assert len(text) == len("2004-11-09T11:33:20.000976Z")


@pytest.mark.parametrize("microseconds", [YEAR_10000, YEAR_1 - 1])
def test_years_that_iso_cannot_write_are_refused(microseconds: int) -> None:
    with pytest.raises(InvalidTraceError, match="years 1 to 9999"):
        iso_times(np.array([0, microseconds]))
