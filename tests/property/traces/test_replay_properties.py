from itertools import pairwise

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from streamshed.traces.kafka_shape import KafkaShape, kafka_rows, kafka_trace
from streamshed.traces.load_profile import LoadProfile, LoadStep
from streamshed.traces.repeat import Pacing, Repetition
from tests.unit.traces.small_trace import small_trace

times = st.lists(st.integers(0, 5_000_000), min_size=1, max_size=40)
steps = st.builds(
    LoadStep,
    duration_microseconds=st.integers(1, 3_000_000),
    factor=st.one_of(st.just(0.0), st.floats(0.01, 8)),
)
profiles = st.lists(steps, min_size=1, max_size=6).filter(lambda many: any(step.factor for step in many))
load_profiles = profiles.map(lambda many: LoadProfile(steps=tuple(many)))


@given(profile=load_profiles, moments=st.lists(st.floats(0, 20_000_000), min_size=2, max_size=20))
def test_load_grows_with_time_and_back(profile: LoadProfile, moments: list[float]) -> None:
    loads = [profile.load_until(moment) for moment in sorted(moments)]
    assert all(earlier <= later for earlier, later in pairwise(loads))
    back = [profile.load_until(float(time)) for time in profile.time_of_load(loads)]
    assert np.allclose(back, loads, rtol=1e-9, atol=1e-3)


@given(
    times=times,
    ordered=st.booleans(),
    profile=load_profiles,
    rows_per_second=st.floats(0.5, 300),
    pacing=st.sampled_from(Pacing),
    interval=st.integers(50_000, 2_000_000),
)
def test_every_row_arrives_once_in_its_interval_and_in_order(
    times: list[int],
    ordered: bool,
    profile: LoadProfile,
    rows_per_second: float,
    pacing: Pacing,
    interval: int,
) -> None:
    repetition = Repetition(
        trace=small_trace(sorted(times) if ordered else times),
        profile=profile,
        rows_per_second=rows_per_second,
        pacing=pacing,
        interval_microseconds=interval,
    )
    ends = [*range(0, profile.duration_microseconds, interval), profile.duration_microseconds]
    latest = 0
    for begin, end in pairwise(ends):
        first, last = repetition.rows_until(begin), repetition.rows_until(end)
        assert first <= last
        arrivals = repetition.arrivals(first, last, begin=begin, end=end)
        assert len(arrivals) == last - first
        event_times = repetition.event_times(first, last, arrivals) - repetition.start
        assert (event_times <= arrivals).all()
        if ordered:
            assert (event_times == arrivals).all()
        if len(arrivals):
            assert latest <= arrivals[0]
            assert begin <= arrivals[0] <= arrivals[-1] < end
            assert (np.diff(arrivals) >= 0).all()
            latest = arrivals[-1]


@given(
    rows=st.integers(1, 30),
    partitions=st.integers(1, 5),
    key=st.sampled_from([None, "host", "number"]),
    cuts=st.lists(st.integers(0, 100), max_size=6),
)
def test_records_do_not_depend_on_how_they_are_cut_into_files(
    rows: int, partitions: int, key: str | None, cuts: list[int]
) -> None:
    encoded = kafka_trace(small_trace(range(rows)), KafkaShape(topic="t", key=key, partitions=partitions))
    edges = [0, *sorted(cuts), 100]
    files = [kafka_rows(encoded, first, last, times=np.arange(first, last)) for first, last in pairwise(edges)]
    whole = kafka_rows(encoded, 0, 100, times=np.arange(100))
    assert pa.concat_tables(files).to_pylist() == whole.to_pylist()
    for partition in range(partitions):
        offsets = [row["offset"] for row in whole.to_pylist() if row["partition"] == partition]
        assert offsets == list(range(len(offsets)))
