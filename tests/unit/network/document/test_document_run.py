import dataclasses
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamshed.elasticity.settings import ElasticSettings
from streamshed.elasticity.workers import WorkerLimits
from streamshed.errors import InvalidDocumentError, InvalidNetworkError
from streamshed.network.document.document import Language, parse_network
from streamshed.network.document.document_writer import network_to_document
from streamshed.network.run.feed import Feed
from streamshed.network.run.load_prior import LoadPrior
from streamshed.network.run.prediction_settings import PREDICTION_METHODS, PredictionSettings
from streamshed.network.run.run_settings import RunSettings, SinkSettings
from streamshed.network.words.state_families import STATE_FAMILIES

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
        trigger="1 second",
        latency="1500 ms",
        headroom=0.5,
        policy="uniform",
        checkpoint="/flows/out/checkpoint",
        sink=SinkSettings("parquet", "/flows/out/answers"),
        advisory=True,
        unscalable="keep",
        confidence=0.99,
        predictions=PredictionSettings("/flows/out/predictions", "linear"),
    )


@pytest.mark.parametrize(
    ("text", "sink"),
    [
        ("console", SinkSettings()),
        ("{memory: answers}", SinkSettings("memory", "answers")),
        ("{parquet: /out, partition_by: [query]}", SinkSettings("parquet", "/out", partition_by=("query",))),
        ("{delta: /out, partition_by: [query]}", SinkSettings("delta", "/out", partition_by=("query",))),
        ("{kafka: answers, servers: 'a:1'}", SinkSettings("kafka", "answers", "a:1")),
        (
            "{kafka: answers, servers: 'a:1', options: {kafka.client.id: x}}",
            SinkSettings("kafka", "answers", "a:1", (("kafka.client.id", "x"),)),
        ),
        ("{postgres: answers}", SinkSettings("postgres", "answers")),
        ("{postgres: live.answers, connection: host=db}", SinkSettings("postgres", "live.answers", "host=db")),
        ("{iceberg: live.answers}", SinkSettings("iceberg", "live.answers")),
        (
            "{iceberg: live.answers, catalog: lake, partition_by: [query, kind]}",
            SinkSettings("iceberg", "live.answers", "lake", partition_by=("query", "kind")),
        ),
        ("{parquet: 's3a://b/answers'}", SinkSettings("parquet", "s3a://b/answers")),
    ],
)
def test_sinks(text: str, sink: SinkSettings) -> None:
    document = parse_network(f"{DOCUMENT}run: {{sink: {text}}}")
    assert document.run.sink == sink
    assert parse_network(network_to_document(document.network, document.run)).run.sink == sink


def test_a_sink_in_sql() -> None:
    statements = "SET sink = (iceberg = 'live.answers', catalog = 'lake', partition_by = ('query'));"
    text = f"{parse_network(DOCUMENT).network.to_sql()}{statements}"
    expected = SinkSettings("iceberg", "live.answers", "lake", partition_by=("query",))
    assert parse_network(text, language=Language.SQL).run.sink == expected


TEXTS = st.text("abc", min_size=1).map(lambda text: f"/flows/{text}")
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "trigger": st.integers(1, 9).map(lambda number: f"{number} ms"),
    "latency": st.integers(10, 99).map(lambda number: f"{number} seconds"),
    "larger_micro_batches": st.booleans(),
    "prior": st.builds(LoadPrior, fixed_seconds=st.floats(1e-9, 9.0), is_measured=st.booleans()),
    "headroom": st.floats(0.8, 1.0),
    "policy": st.just("hoeffding"),
    "fudge": st.floats(0.0, 9.0),
    "advisory": st.booleans(),
    "unscalable": st.sampled_from(["refuse", "keep"]),
    "confidence": st.floats(0.1, 0.9),
    "state_limit": st.integers(1, 99).map(lambda number: f"{number} MiB"),
    "max_age": st.integers(2, 99).map(lambda number: f"{number} minutes"),
    "partitions": st.integers(1, 99),
    "reserve": st.lists(st.sampled_from(STATE_FAMILIES), unique=True).map(tuple),
    "elastic": st.builds(lambda most: ElasticSettings(limits=WorkerLimits(most=most)), st.integers(1, 9)),
    "set_aside_limit": st.integers(1, 99).map(lambda number: f"{number} MiB"),
    "fault_patience": st.integers(1, 99).map(lambda number: f"{number} minutes"),
    "worker_patience": st.integers(1, 99).map(lambda number: f"{number} minutes"),
    "publish_needs": TEXTS,
    "feeds": st.builds(Feed, query=st.just("all"), needs=TEXTS, stream=st.just("s")).map(lambda feed: (feed,)),
    "host": st.sampled_from(["10.0.0.7", "driver"]),
    "port": st.integers(0, 65535),
    "statistics": TEXTS,
    "checkpoint": TEXTS,
    "sink": st.just(SinkSettings("parquet", "/a")),
    "predictions": st.builds(PredictionSettings, TEXTS, st.sampled_from(PREDICTION_METHODS)),
}


def test_there_is_a_value_for_each_setting() -> None:
    assert VALUES.keys() == RunSettings.__dataclass_fields__.keys()


@settings(max_examples=40)
@given(st.fixed_dictionaries({}, optional=VALUES))
def test_all_settings_come_back_as_they_were_written(given_settings: dict[str, Any]) -> None:
    run = RunSettings(**{"sink": SinkSettings("parquet", "/a"), "policy": "hoeffding", **given_settings})
    network = parse_network(DOCUMENT).network
    assert parse_network(network_to_document(network, run), folder="/").run == run


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
        RunSettings(trigger="0 seconds", headroom=0.0, confidence=1.0)
    assert len(raised.value.problems) == 3


def test_a_latency_within_the_trigger_is_refused() -> None:
    with pytest.raises(InvalidNetworkError, match="longer than the trigger of 2 seconds"):
        RunSettings(latency="2 seconds")


@pytest.mark.parametrize(
    "sink",
    [
        "{postgres: answers, connection: 'host=db password=chameleon'}",
        "{postgres: answers, conection: 'host=db password=chameleon'}",
        "{postgres: answers, connection: 'postgresql://streams:chameleon@db', more: 1}",
        "{postgres: 'an swers', connection: 'postgresql://streams:chameleon@db'}",
        "{iceberg: live.answers, catalog: 'https://streams:chameleon@lake'}",
        "{iceberg: live.answers, catalog: {uri: 'https://lake', token: chameleon}}",
        "{iceberg: answers, catalog: 'postgresql+psycopg://streams:chameleon@db'}",
    ],
)
def test_a_password_is_refused_and_not_shown(sink: str) -> None:
    with pytest.raises(InvalidDocumentError) as raised:
        parse_network(f"{DOCUMENT}run: {{sink: {sink}}}")
    assert "chameleon" not in str(raised.value)


def test_a_password_in_sql_is_not_shown() -> None:
    statements = "SET sink = (postgres = 'answers', connection = 'host=db password=chameleon');"
    with pytest.raises(InvalidDocumentError, match=r"password=\*{9}") as raised:
        parse_network(statements, language=Language.SQL)
    assert "chameleon" not in str(raised.value)
