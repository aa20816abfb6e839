from typing import Any

import pytest

from streamshed.control.loop import ControlLoop
from streamshed.control.settings import ControlSettings
from streamshed.errors import InvalidNetworkError
from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import network
from streamshed.network.source.sources import rate


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"trigger_interval_seconds": 0.0}, "trigger_interval_seconds must be positive"),
        ({"trigger_interval_seconds": float("inf")}, "trigger_interval_seconds must be positive"),
        ({"headroom": 0.0}, "headroom must be more than 0 and at most 1"),
        ({"headroom": 1.5}, "headroom must be more than 0 and at most 1"),
        ({"latency_seconds": 2.0}, "latency_seconds must be longer than the trigger interval of 2.0 s"),
        ({"latency_seconds": float("nan")}, "latency_seconds must be longer"),
        ({"policy": "uniformly"}, "did you mean"),
        ({"unscalable": "keeps"}, r'unscalable must be one of refuse, keep.*did you mean "keep"'),
    ],
)
def test_settings_that_cannot_be_are_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ControlSettings(**{"trigger_interval_seconds": 2.0, **wrong})


@pytest.mark.parametrize(
    ("latency_seconds", "larger", "deadline_seconds"),
    [
        (None, False, 2.0),
        (None, True, 2.0),
        (3.0, False, 1.0),
        (3.0, True, 1.0),
        (10.0, False, 2.0),
        (10.0, True, 5.0),
    ],
)
def test_two_micro_batches_within_the_deadline_are_within_the_latency_goal(
    latency_seconds: float | None, larger: bool, deadline_seconds: float
) -> None:
    settings = ControlSettings(
        trigger_interval_seconds=2.0, latency_seconds=latency_seconds, larger_micro_batches=larger
    )
    assert settings.deadline_seconds == deadline_seconds
    assert max(2.0, deadline_seconds) + deadline_seconds <= settings.latency_goal_seconds


class TestGoalsOfQueries:
    """Latency goals that queries have of their own."""

    TICKS = stream("ticks", rate(10), time="timestamp").window("1 minute").agg(n="count(*)")

    @pytest.mark.parametrize(
        ("of_run", "of_queries", "goal"),
        [
            (None, [None], 4.0),
            (10.0, [None, "6 seconds", "8 seconds"], 6.0),
            (5.0, ["6 seconds"], 5.0),
            (None, ["1 hour"], 4.0),
            (None, ["3 s"], 3.0),
        ],
    )
    def test_the_least_goal_holds(self, of_run: float | None, of_queries: list[str | None], goal: float) -> None:
        asked = network(*(self.TICKS.query(f"q{i}", latency=latency) for i, latency in enumerate(of_queries)))
        settings = ControlSettings(trigger_interval_seconds=2.0, latency_seconds=of_run)
        assert settings.for_network(asked).latency_goal_seconds == goal
        assert ControlLoop(asked, settings, lambda: 0.0).settings.latency_goal_seconds == goal

    def test_a_goal_within_the_trigger_cannot_be(self) -> None:
        asked = network(self.TICKS.query("soon", latency="2 seconds"), self.TICKS.query("later", latency="3 seconds"))
        with pytest.raises(InvalidNetworkError, match=r'^query "soon": the latency must be longer .* got 2 seconds$'):
            ControlSettings(trigger_interval_seconds=2.0).for_network(asked)
