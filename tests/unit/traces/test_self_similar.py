import numpy as np
import pytest

from streamshed.traces.errors import InvalidTraceError
from streamshed.traces.self_similar import OnOffSources, load_of_sources


def test_fewer_sources_are_burstier() -> None:
    deviations = [
        load_of_sources(
            OnOffSources(sources=sources), 6000, interval_seconds=0.1, generator=np.random.default_rng(1)
        ).std()
        for sources in (4, 400)
    ]
    assert deviations[0] > 3 * deviations[1]


def test_all_sources_silent_is_a_steady_load() -> None:
    sources = OnOffSources(sources=1, mean_on_seconds=1e-6, mean_off_seconds=1e6)
    load = load_of_sources(sources, 3, interval_seconds=0.01, generator=np.random.default_rng(0))
    assert load.tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    ("sources", "mean_on_seconds", "tail", "message"),
    [
        (0, 1.0, 1.4, "at least 1 on/off source"),
        (1, 0.0, 1.4, "must be above 0 seconds"),
        (1, 1.0, 1.0, "tail exponent must be above 1 and at most 2"),
        (1, 1.0, 2.1, "tail exponent"),
    ],
)
def test_what_no_source_can_have_is_refused(sources: int, mean_on_seconds: float, tail: float, message: str) -> None:
    with pytest.raises(InvalidTraceError, match=message):
        OnOffSources(sources=sources, mean_on_seconds=mean_on_seconds, tail=tail)
