from typing import Any

import pytest

from streamshed.errors import InvalidNetworkError
from streamshed.network.model.network import QueryNetwork, network
from streamshed.network.model.sources import rate
from streamshed.network.model.stream import stream
from streamshed.spark.run import start
from streamshed.spark.start_settings import StartSettings

NO_SPARK: Any = None


def ticks() -> QueryNetwork:
    return network(stream("ticks", rate(1), time="timestamp").query("all"))


def test_time_domains_share_the_limit_of_state_and_nothing_else_beforehand() -> None:
    control = StartSettings(trigger="1 second", latency="3 seconds", state_limit="10 MB").control(2)
    assert (control.trigger_interval_seconds, control.latency_seconds, control.headroom) == (1.0, 3.0, 0.8)
    assert control.state_limit_bytes == 5_000_000
    assert StartSettings(trigger="1 second").control(1).latency_seconds is None


def test_a_setting_that_there_is_not_is_answered_by_the_one_that_was_meant() -> None:
    with pytest.raises(TypeError, match=r'start\(\) has no keyword "latencyy": did you mean "latency"'):
        ticks().start(NO_SPARK, checkpoint="c", sink=print, latencyy="5 seconds")


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"headroom": 1.5}, "the headroom must be more than 0 and at most 1, got 1.5"),
        ({"headroom": float("nan")}, "the headroom must be more than 0 and at most 1, got nan"),
        ({"headroom": "0.8"}, "the headroom must be a number, got '0.8'"),
        ({"confidence": 1}, "the confidence must be between 0 and 1, got 1"),
        ({"policy": "unifrom"}, r'no policy "unifrom", known are: uniform, .* \(did you mean "uniform"\?\)'),
        ({"policy": None}, 'no policy "None", known are: uniform'),
        ({"trigger": "0 seconds"}, "the trigger must be longer than nothing"),
        ({"trigger": 2}, 'the trigger: a duration is text such as "5 minutes", got 2'),
        ({"latency": "2 seconds"}, "the latency must be longer than the trigger of 2 seconds"),
        ({"latency": "3 sekonds"}, 'the latency: unknown unit "sekonds"'),
        ({"worker_patience": "0 s"}, "the worker_patience must be longer than nothing, got '0 s'"),
        ({"worker_patience": 120}, 'the worker_patience: a duration is text such as "5 minutes", got 120'),
        ({"unscalable": "kep"}, r'unscalable is "refuse" or "keep", got .kep. \(did you mean "keep"\?\)'),
        ({"advisory": "no"}, "advisory must be True or False, got 'no'"),
        ({"prior": 0.1}, r"the prior must be a LoadPrior\(\.\.\.\), got 0.1"),
        ({"partitions": 0}, "partitions must be a whole number of at least 1, got 0"),
        ({"reserve": "texts"}, r'reserve is a list, got "texts": write \["texts"\]'),
        ({"reserve": ["decimal"]}, r'no state family "decimal".*did you mean "decimals"'),
        ({"host": ""}, "the host is an address such as"),
        ({"port": 70_000}, "the port must be a whole number from 0 to 65535, got 70000"),
        ({"port": -1}, "the port must be a whole number from 0 to 65535, got -1"),
    ],
)
def test_a_setting_that_cannot_be_is_told(settings: dict[str, Any], problem: str) -> None:
    with pytest.raises(InvalidNetworkError, match=problem) as caught:
        StartSettings(**settings)
    assert len(caught.value.problems) == 1


def test_all_settings_that_cannot_be_are_told_before_anything_else() -> None:
    with pytest.raises(InvalidNetworkError) as caught:
        start(ticks(), NO_SPARK, checkpoint="nowhere", sink=print, headroom=1.5, policy="unifrom", port=70_000)
    assert len(caught.value.problems) == 3


def test_a_path_is_no_sink() -> None:
    sink: Any = "out/answers"
    with pytest.raises(InvalidNetworkError, match=r"such as parquet_sink\(path\), or to a function, got 'out/answers'"):
        start(ticks(), NO_SPARK, checkpoint="nowhere", sink=sink)
