import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamshed.traces.aligned_start import EARLY_SECONDS, aligned_start


@given(earliest=st.floats(1.7e9, 1.8e9), trigger=st.integers(1, 60))
def test_a_feed_starts_shortly_before_a_micro_batch(earliest: float, trigger: int) -> None:
    start = aligned_start(earliest, trigger)
    assert earliest <= start + 1e-6 < earliest + trigger + 1e-5
    since = (start + EARLY_SECONDS) % trigger
    assert min(since, trigger - since) == pytest.approx(0.0, abs=1e-5)
