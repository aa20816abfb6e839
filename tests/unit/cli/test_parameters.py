import click
import pytest

from streamshed.cli.terminal.parameters import DURATION, POSITIVE_NUMBER, SINK
from streamshed.network.run.run_settings import SinkSettings


def test_durations_are_microseconds() -> None:
    assert DURATION.convert("1 minute 30 s", None, None) == 90_000_000
    assert DURATION.convert(5, None, None) == 5


def test_a_wrong_duration_says_why() -> None:
    with pytest.raises(click.BadParameter, match=r'unknown unit "secnds".*did you mean "seconds"'):
        DURATION.convert("2 secnds", None, None)


def test_numbers_above_0() -> None:
    assert POSITIVE_NUMBER.convert("0.5", None, None) == 0.5


@pytest.mark.parametrize("text", ["0", "-1", "nan", "inf", "fast"])
def test_other_numbers_are_refused(text: str) -> None:
    with pytest.raises(click.BadParameter, match=f"expected a number above 0, got '{text}'"):
        POSITIVE_NUMBER.convert(text, None, None)


@pytest.mark.parametrize(
    ("text", "sink"),
    [
        ("console", SinkSettings()),
        ("parquet:out/answers", SinkSettings("parquet", "out/answers")),
        ("parquet:s3://bucket/a", SinkSettings("parquet", "s3://bucket/a")),
        ("memory:answers", SinkSettings("memory", "answers")),
        ("kafka:answers@a:1,b:2", SinkSettings("kafka", "answers", "a:1,b:2")),
        ("iceberg:live.answers", SinkSettings("iceberg", "live.answers")),
        ("iceberg:live.answers@lake", SinkSettings("iceberg", "live.answers", "lake")),
        ("postgres:answers", SinkSettings("postgres", "answers")),
        ("postgres:live.answers@postgresql://u@db/a", SinkSettings("postgres", "live.answers", "postgresql://u@db/a")),
    ],
)
def test_sinks(text: str, sink: SinkSettings) -> None:
    assert SINK.convert(text, None, None) == sink
    assert SINK.convert(sink, None, None) == sink


@pytest.mark.parametrize("text", ["", "parquet", "parquet:", "console:x", "kafka:topic"])
def test_other_sinks_are_refused(text: str) -> None:
    with pytest.raises(click.BadParameter, match="expected console, parquet:FOLDER, delta:FOLDER, memory:NAME, kafka:"):
        SINK.convert(text, None, None)


def test_a_password_of_a_sink_is_refused_and_not_shown() -> None:
    with pytest.raises(click.BadParameter, match="holds a password") as raised:
        SINK.convert("postgres:answers@host=db password=chameleon", None, None)
    assert "chameleon" not in str(raised.value)
    with pytest.raises(click.BadParameter, match=r"write how it is reached into ~/.pyiceberg.yaml") as raised:
        SINK.convert("iceberg:live.answers@https://u:chameleon@lake", None, None)
    assert "chameleon" not in str(raised.value)
