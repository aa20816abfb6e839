from typing import Any

import pytest

from streamshed.errors import InvalidNetworkError
from streamshed.network.run.settings import Settings


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"headroom": 1.5}, "the headroom must be more than 0 and at most 1, got 1.5"),
        ({"headroom": float("nan")}, "the headroom must be more than 0 and at most 1, got nan"),
        ({"headroom": "0.8"}, "the headroom must be a number, got '0.8'"),
        ({"confidence": 1}, "the confidence must be between 0 and 1, got 1"),
        ({"policy": "unifrom"}, r"the policy must be one of uniform, .*, got 'unifrom' \(did you mean \"uniform\"\?\)"),
        ({"policy": None}, "the policy must be one of uniform, .*, got None"),
        ({"trigger": "0 seconds"}, "the trigger must be longer than nothing"),
        ({"trigger": 2}, 'the trigger: a duration is text such as "5 minutes", got 2'),
        ({"latency": "2 seconds"}, "the latency must be longer than the trigger of 2 seconds"),
        ({"latency": "3 sekonds"}, 'the latency: unknown unit "sekonds"'),
        ({"worker_patience": "0 s"}, "the worker_patience must be longer than nothing, got '0 s'"),
        ({"worker_patience": 120}, 'the worker_patience: a duration is text such as "5 minutes", got 120'),
        ({"unscalable": "kep"}, r'the unscalable must be one of refuse, keep, got .kep. \(did you mean "keep"\?\)'),
        ({"advisory": "no"}, "the advisory must be True or False, got 'no'"),
        ({"prior": 0.1}, r"the prior must be LoadPrior\(\.\.\.\), got 0.1"),
        ({"partitions": 0}, "the partitions must be at least 1, got 0"),
        ({"reserve": "texts"}, r'reserve is a list, got "texts": write \["texts"\]'),
        ({"reserve": ["decimal"]}, r'unknown state family "decimal".*did you mean "decimals"'),
        ({"host": ""}, 'the host must be text such as "127.0.0.1"'),
        ({"port": 70_000}, "the port must be at least 0 and at most 65535, got 70000"),
        ({"port": -1}, "the port must be at least 0 and at most 65535, got -1"),
    ],
)
def test_a_setting_that_cannot_be_is_told(settings: dict[str, Any], problem: str) -> None:
    with pytest.raises(InvalidNetworkError, match=problem) as caught:
        Settings(**settings)
    [told] = caught.value.problems
    assert told.element in settings


def test_what_goes_together_is_not_asked_of_settings_that_are_wrong_by_themselves() -> None:
    with pytest.raises(InvalidNetworkError) as caught:
        Settings(trigger="soon", latency="1 second", policy="unifrom", fudge=0.5)
    assert sorted(problem.element for problem in caught.value.problems) == ["policy", "trigger"]


def test_durations_and_sizes_are_told_as_numbers() -> None:
    settings = Settings(trigger="1 minute 30 seconds", latency="2 hours", state_limit="2 kB", worker_patience="500 ms")
    assert (settings.trigger_seconds, settings.latency_seconds) == (90.0, 7200.0)
    assert (settings.state_limit_bytes, settings.worker_patience_seconds) == (2000, 0.5)
    assert (Settings().latency_seconds, Settings().state_limit_bytes) == (None, None)


@pytest.mark.parametrize("settings", [{"trigger": "30 seconds"}, {"latency": "1 minute"}])
def test_rows_that_are_answered_in_time_are_not_too_old(settings: dict[str, Any]) -> None:
    assert Settings(max_age="61 s", **settings).max_age_microseconds == 61_000_000
    with pytest.raises(InvalidNetworkError, match=r"max_age must be longer than .* 1 minute, .* got 1 min"):
        Settings(max_age="1 minute", **settings)
    with pytest.raises(InvalidNetworkError, match=r"the max_age: .* is no duration") as caught:
        Settings(max_age="old", **settings)
    assert [problem.element for problem in caught.value.problems] == ["max_age"]
