import dataclasses

import pytest

from streamshed.errors import InvalidDocumentError, InvalidNetworkError
from streamshed.network.document.document import parse_network
from streamshed.network.document.document_writer import network_to_document
from streamshed.network.run.prediction_settings import PREDICTION_METHODS, PredictionSettings
from streamshed.network.run.run_settings import ConsoleSink, MemorySink, ParquetSink, RunSettings, Sink

DOCUMENT = """
streamshed: 1
streams: {ticks: {source: {rate: {rows_per_second: 10}}, time: timestamp}}
queries: {all: {from: ticks}}
"""


def test_what_is_not_said_has_defaults() -> None:
    assert parse_network(DOCUMENT).run == RunSettings()


def test_everything_can_be_said() -> None:
    run = (
        "run: {trigger: 1 second, latency: 1500 ms, headroom: 0.5, policy: uniform, unscalable: keep,"
        " checkpoint: out/checkpoint, sink: {parquet: out/answers}, advisory: true, confidence: 0.99,"
        " predictions: {parquet: out/predictions, method: linear}}"
    )
    assert parse_network(DOCUMENT + run, folder="/flows").run == RunSettings(
        trigger_microseconds=1_000_000,
        latency_microseconds=1_500_000,
        headroom=0.5,
        policy="uniform",
        checkpoint="/flows/out/checkpoint",
        sink=ParquetSink("/flows/out/answers"),
        advisory=True,
        unscalable="keep",
        confidence=0.99,
        predictions=PredictionSettings("/flows/out/predictions", "linear"),
    )


@pytest.mark.parametrize(
    ("text", "sink"),
    [
        ("console", ConsoleSink()),
        ("{memory: answers}", MemorySink("answers")),
        ("{parquet: 's3a://b/answers'}", ParquetSink("s3a://b/answers")),
    ],
)
def test_sinks(text: str, sink: Sink) -> None:
    assert parse_network(f"{DOCUMENT}run: {{sink: {text}}}").run.sink == sink


@pytest.mark.parametrize("method", [None, *PREDICTION_METHODS])
def test_predictions_come_back_as_they_were_written(method: str | None) -> None:
    said = "{parquet: p}" if method is None else f"{{parquet: p, method: {method}}}"
    text = f"{DOCUMENT}run: {{sink: {{parquet: a}}, predictions: {said}}}"
    document = parse_network(text, folder="/flows")
    assert document.run.predictions == PredictionSettings("/flows/p", method or "local")
    assert parse_network(network_to_document(document.network, document.run)).run == document.run


@pytest.mark.parametrize(
    ("run", "problem"),
    [
        ("{predictions: {parquet: p}}", "run.predictions: predictions go to /flows/p, but they are made from answers"),
        ("{sink: {memory: a}, predictions: {parquet: p}}", "and the sink is memory: choose a sink of Parquet"),
        ("{sink: {parquet: a}, predictions: {parquet: p, method: locl}}", "run.predictions.method"),
        ("{sink: {parquet: a}, predictions: {method: local}}", "run.predictions"),
        ("{sink: {parquet: a}, predictions: {parquet: p, folder: q}}", "folder"),
        ("{sink: {parquet: a}, predictions: p}", "run.predictions"),
    ],
)
def test_predictions_that_cannot_be_are_refused(run: str, problem: str) -> None:
    with pytest.raises(InvalidDocumentError) as raised:
        parse_network(f"{DOCUMENT}run: {run}", folder="/flows")
    [_] = raised.value.problems
    assert problem in str(raised.value)


def test_settings_are_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        RunSettings().headroom = 1.0  # type: ignore[misc]


def test_all_problems_are_raised_at_once() -> None:
    with pytest.raises(InvalidNetworkError) as raised:
        RunSettings(trigger_microseconds=0, headroom=0.0, confidence=1.0)
    assert len(raised.value.problems) == 3


def test_a_latency_within_the_trigger_is_refused() -> None:
    with pytest.raises(InvalidNetworkError, match="longer than the trigger of 2 seconds"):
        RunSettings(latency_microseconds=2_000_000)
