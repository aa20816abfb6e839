import pytest

from streamshed.cli.run_overrides import overridden, start_arguments
from streamshed.errors import InvalidNetworkError
from streamshed.network.run.prediction_settings import PredictionSettings
from streamshed.network.run.run_settings import MemorySink, ParquetSink, RunSettings

DOCUMENT = RunSettings(trigger_microseconds=5_000_000, headroom=0.7, advisory=True, sink=ParquetSink("out"))
NOTHING: dict[str, object] = dict.fromkeys(
    ("trigger_microseconds", "latency_microseconds", "headroom", "advisory", "sink")
)


def test_what_was_not_given_stays() -> None:
    assert overridden(DOCUMENT, NOTHING) == DOCUMENT


def test_what_was_given_wins_also_when_it_is_false() -> None:
    settings = overridden(DOCUMENT, NOTHING | {"advisory": False, "headroom": 0.5})
    assert (settings.advisory, settings.headroom, settings.trigger_microseconds) == (False, 0.5, 5_000_000)


def test_together_they_have_to_make_sense() -> None:
    with pytest.raises(InvalidNetworkError, match="the latency must be longer than the trigger of 5 seconds"):
        overridden(DOCUMENT, NOTHING | {"latency_microseconds": 1_000_000})


def test_durations_are_written_as_text() -> None:
    arguments = start_arguments(RunSettings(trigger_microseconds=500_000, latency_microseconds=2_000_000))
    assert (arguments["trigger"], arguments["latency"]) == ("500 milliseconds", "2 seconds")
    assert start_arguments(RunSettings())["latency"] is None


def test_every_setting_but_where_things_go_is_passed_on() -> None:
    names = {name.removesuffix("_microseconds").removesuffix("_bytes") for name in RunSettings.__dataclass_fields__}
    assert set(start_arguments(RunSettings())) == names - {"checkpoint", "sink", "predictions", "statistics"}


def test_another_folder_for_predictions_leaves_their_method() -> None:
    said = RunSettings(sink=ParquetSink("a"), predictions=PredictionSettings("p", "linear"))
    assert overridden(said, {"predictions": "q"}).predictions == PredictionSettings("q", "linear")
    assert overridden(RunSettings(sink=ParquetSink("a")), {"predictions": "q"}).predictions == PredictionSettings("q")
    with pytest.raises(InvalidNetworkError, match="the sink is memory"):
        overridden(said, {"sink": MemorySink("m")})
