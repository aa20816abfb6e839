import pytest

from streamshed.cli.run_overrides import overridden
from streamshed.errors import InvalidNetworkError
from streamshed.network.run.prediction_settings import PredictionSettings
from streamshed.network.run.run_settings import RunSettings, SinkSettings

DOCUMENT = RunSettings(trigger="5 seconds", headroom=0.7, advisory=True, sink=SinkSettings("parquet", "out"))
NOTHING: dict[str, object] = dict.fromkeys(("trigger", "latency", "headroom", "advisory", "sink"))


def test_what_was_not_given_stays() -> None:
    assert overridden(DOCUMENT, NOTHING) == DOCUMENT


def test_what_was_given_wins_also_when_it_is_false() -> None:
    settings = overridden(DOCUMENT, NOTHING | {"advisory": False, "headroom": 0.5})
    assert (settings.advisory, settings.headroom, settings.trigger) == (False, 0.5, "5 seconds")


def test_together_they_have_to_make_sense() -> None:
    with pytest.raises(InvalidNetworkError, match="the latency must be longer than the trigger of 5 seconds"):
        overridden(DOCUMENT, NOTHING | {"latency": "1 second"})


def test_the_sink_that_is_in_force_is_partitioned() -> None:
    assert overridden(DOCUMENT, {"partition_by": ("query",)}).sink == SinkSettings(
        "parquet", "out", partition_by=("query",)
    )
    given = {"sink": SinkSettings("delta", "t"), "partition_by": ("kind",)}
    assert overridden(DOCUMENT, given).sink == SinkSettings("delta", "t", partition_by=("kind",))
    with pytest.raises(InvalidNetworkError, match="a sink has partition_by where it is parquet, delta or iceberg"):
        overridden(RunSettings(), {"partition_by": ("query",)})


def test_another_folder_for_predictions_leaves_their_method() -> None:
    said = RunSettings(sink=SinkSettings("parquet", "a"), predictions=PredictionSettings("p", "linear"))
    assert overridden(said, {"predictions": "q"}).predictions == PredictionSettings("q", "linear")
    assert overridden(
        RunSettings(sink=SinkSettings("parquet", "a")), {"predictions": "q"}
    ).predictions == PredictionSettings("q")
    with pytest.raises(InvalidNetworkError, match="the sink is memory"):
        overridden(said, {"sink": SinkSettings("memory", "m")})
