import dataclasses
import inspect
from typing import Any

import pytest

from streamshed.errors import InvalidNetworkError
from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import QueryNetwork, network
from streamshed.network.run.setting import settings_of
from streamshed.network.source.sources import rate
from streamshed.spark.start_settings import StartSettings
from streamshed.spark.starting import start

NO_SPARK: Any = None


def ticks() -> QueryNetwork:
    return network(stream("ticks", rate(1), time="timestamp").query("all"))


def test_time_domains_share_the_limit_of_state_and_nothing_else_beforehand() -> None:
    settings = StartSettings(checkpoint="c", sink=print, trigger="1 second", latency="3 seconds", state_limit="10 MB")
    control = settings.control(2)
    assert (control.trigger_interval_seconds, control.latency_seconds, control.headroom) == (1.0, 3.0, 0.8)
    assert control.state_limit_bytes == 5_000_000


def test_start_takes_each_setting_as_a_keyword_and_documents_it() -> None:
    parameters = inspect.signature(start).parameters
    assert list(parameters)[:2] == ["network", "spark"]
    assert {name: parameter.default for name, parameter in list(parameters.items())[2:]} == {
        one.name: inspect.Parameter.empty if one.default is dataclasses.MISSING else one.default
        for one in dataclasses.fields(StartSettings)
    }
    document = start.__doc__ or ""
    assert all(f"\n    {one.name}: {one.description}" in document for one in settings_of(StartSettings).values())


def test_a_setting_that_is_missing_is_named() -> None:
    with pytest.raises(TypeError, match="missing a required argument: 'sink'"):
        ticks().start(NO_SPARK, checkpoint="c")


def test_a_setting_that_there_is_not_is_answered_by_the_one_that_was_meant() -> None:
    with pytest.raises(TypeError, match=r'start\(\) has no keyword "latencyy": did you mean "latency"'):
        ticks().start(NO_SPARK, checkpoint="c", sink=print, latencyy="5 seconds")


def test_all_settings_that_cannot_be_are_told_before_anything_else() -> None:
    with pytest.raises(InvalidNetworkError) as caught:
        start(ticks(), NO_SPARK, checkpoint="nowhere", sink=print, headroom=1.5, policy="unifrom", port=70_000)
    assert len(caught.value.problems) == 3


def test_a_path_is_no_sink() -> None:
    sink: Any = "out/answers"
    with pytest.raises(InvalidNetworkError, match=r"such as parquet_sink\(path\), or to a function, got 'out/answers'"):
        start(ticks(), NO_SPARK, checkpoint="nowhere", sink=sink)
