import json
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, Self

import pytest

from streamshed.cli import run_session
from streamshed.cli.run_session import RunPlace, RunRequest
from streamshed.cli.terminal.exit_code import ExitCode
from streamshed.errors import JavaUnavailableError
from streamshed.network.model.network import QueryNetwork
from streamshed.network.run.run_settings import SinkSettings
from streamshed.spark.common import connector
from streamshed.spark.common.connector import DELTA, KAFKA, connector_settings
from streamshed.spark.loop.run_status import RunStatus
from streamshed.spark.operators import expression_checker
from streamshed.spark.sinks.delta_sink import delta_sink
from streamshed.spark.sinks.iceberg_sink import iceberg_sink
from streamshed.spark.sinks.postgres_sink import postgres_sink
from streamshed.spark.sinks.prediction_sink import PredictionSink
from streamshed.spark.sinks.sinks import Sink
from tests.unit.cli.command_line import streamshed
from tests.unit.dashboard.statuses import status

DOCUMENT = """
streamshed: 1
streams:
  ticks: {source: {rate: {rows_per_second: 10}}, time: timestamp}
queries:
  total: {from: ticks, window: {size: 1 minute}, aggregates: {total: sum(value)}}
run: {trigger: 5 seconds, headroom: 0.7}
"""


@pytest.fixture
def document(tmp_path: Path) -> Path:
    path = tmp_path / "network.yaml"
    path.write_text(DOCUMENT)
    return path


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[RunRequest]:
    requests: list[RunRequest] = []

    def remember(request: RunRequest) -> ExitCode:
        requests.append(request)
        return ExitCode.DONE

    monkeypatch.setattr(run_session, "run_document", remember)
    return requests


def test_what_is_not_said_is_left_to_the_document(document: Path, asked: list[RunRequest]) -> None:
    assert streamshed("run", document).code == ExitCode.DONE
    [request] = asked
    assert set(request.settings.values()) == {None}
    assert request.place == RunPlace(master=None, cores=None, memory="4g")
    assert (request.duration_seconds, request.as_json) == (None, False)


SAID: Mapping[tuple[str, ...], tuple[str, object]] = {
    ("--checkpoint", "ck"): ("checkpoint", "ck"),
    ("--sink", "parquet:out"): ("sink", SinkSettings("parquet", "out")),
    ("--partition-by", "query, kind"): ("partition_by", ("query", "kind")),
    ("--trigger", "3s"): ("trigger", "3s"),
    ("--latency", "9s"): ("latency", "9s"),
    ("--headroom", "0.5"): ("headroom", 0.5),
    ("--policy", "uniform"): ("policy", "uniform"),
    ("--advisory",): ("advisory", True),
    ("--unscalable", "keep"): ("unscalable", "keep"),
    ("--confidence", "0.9"): ("confidence", 0.9),
    ("--fudge", "0.5"): ("fudge", 0.5),
    ("--statistics", "known.json"): ("statistics", "known.json"),
    ("--state-limit", "2 GiB"): ("state_limit", "2 GiB"),
    ("--set-aside-limit", "50 MB"): ("set_aside_limit", "50 MB"),
    ("--max-age", "5 minutes"): ("max_age", "5 minutes"),
    ("--workers", "2..6"): ("workers", (2, 6)),
    ("--controller", "thresholds"): ("controller", "thresholds"),
    ("--publish-needs", "needs.json"): ("publish_needs", "needs.json"),
    ("--predictions", "filled"): ("predictions", "filled"),
    ("--host", "10.0.0.7"): ("host", "10.0.0.7"),
    ("--worker-patience", "5 minutes"): ("worker_patience", "5 minutes"),
    ("--fault-patience", "7 minutes"): ("fault_patience", "7 minutes"),
    ("--larger-micro-batches",): ("larger_micro_batches", True),
    ("--partitions", "6"): ("partitions", 6),
    ("--reserve", "texts,rows"): ("reserve", ("texts", "rows")),
    ("--port", "4100"): ("port", 4100),
}
"""The options of settings, with the setting that each gives and its value."""


def test_every_option_arrives(document: Path, asked: list[RunRequest]) -> None:
    place = ("--master", "spark://there:7077", "--cores", 1, "--memory", "2g", "--jars", "a.jar,b.jar")
    streamshed("run", document, *chain(*SAID), *place, "--duration", "1 minute", "--json")
    [request] = asked
    assert request.settings == dict(SAID.values())
    assert request.place == RunPlace(master="spark://there:7077", cores=1, memory="2g", jars="a.jar,b.jar")
    assert (request.duration_seconds, request.as_json) == (60.0, True)


def test_advice_can_be_switched_off(document: Path, asked: list[RunRequest]) -> None:
    streamshed("run", document, "--no-advisory")
    assert asked[0].settings["advisory"] is False


def test_problems_of_the_document_are_told_before_spark_starts(document: Path) -> None:
    document.write_text(DOCUMENT.replace("from: ticks", "from: tics"))
    outcome = streamshed("run", document)
    assert outcome.code == ExitCode.REFUSED
    assert (
        "error: queries.total.from: unknown stream or operator, got 'tics' (did you mean \"ticks\"?)" in outcome.errors
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--latency", "1s"), "the latency must be longer than the trigger of 5 seconds"),
        (("--headroom", "1.5"), "the headroom must be more than 0 and at most 1, got 1.5"),
        (
            ("--predictions", "filled"),
            "made from answers in Parquet, and the sink is console: choose a sink of Parquet",
        ),
        (("--predictions", "filled", "--sink", "parquet:out"), "no query is in mode subset"),
        (("--confidence", "0"), "the confidence must be between 0 and 1, got 0.0"),
    ],
)
def test_settings_that_make_no_sense(document: Path, arguments: tuple[str, str], message: str) -> None:
    outcome = streamshed("run", document, *arguments)
    assert outcome.code == ExitCode.REFUSED
    assert message in outcome.errors


def test_an_unknown_policy(document: Path) -> None:
    outcome = streamshed("run", document, "--policy", "unifrom")
    assert outcome.code == ExitCode.USAGE
    assert "'unifrom' is not" in outcome.errors


@pytest.mark.parametrize("arguments", [(), ("--sink", "console")])
def test_answers_and_json_are_never_mixed(document: Path, arguments: tuple[str, ...]) -> None:
    outcome = streamshed("run", document, "--json", *arguments)
    assert (outcome.code, outcome.output) == (ExitCode.REFUSED, "")
    assert "choose where answers go, with --sink parquet:FOLDER or --sink memory:NAME" in outcome.errors


@pytest.mark.parametrize("arguments", [("--json", "--sink", "memory:answers"), ()])
def test_one_of_them_is_shown(document: Path, arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    def no_java(*_arguments: object, **_settings: object) -> None:
        raise JavaUnavailableError("it would have run")

    monkeypatch.setattr(run_session, "session", no_java)
    assert "it would have run" in streamshed("run", document, *arguments).errors


def test_a_master_that_is_not_there_is_told_before_spark_starts(
    document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "no java"))
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        place = f"127.0.0.1:{bound.getsockname()[1]}"
        outcome = streamshed("run", document, "--master", f"spark://{place}")
    assert outcome.code == ExitCode.REFUSED
    assert outcome.errors.startswith("error: no master of a standalone cluster can be reached: ")
    assert f"{place}: connection refused" in outcome.errors


@pytest.mark.parametrize("master", ["spark://there", "sprak://there:7077"])
def test_nor_is_one_that_cannot_be(document: Path, master: str) -> None:
    outcome = streamshed("run", document, "--master", master)
    assert outcome.code == ExitCode.REFUSED
    assert f'the master "{master}"' in outcome.errors


class Stopped:
    """A run that was asked to stop, and finishes its last micro-batch then."""

    is_active = False
    exception = None
    waits_for = ""

    def __init__(self) -> None:
        self.finished = [status(0), status(1)]

    def statuses_since(self, micro_batch_ids: Mapping[str, int]) -> list[RunStatus]:
        return [one for one in self.finished if one.micro_batch_id > micro_batch_ids.get(one.clock, -1)]

    def stop(self) -> None:
        if len(self.finished) < 3:
            self.finished.append(status(2))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.stop()


@pytest.fixture
def no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def session(*_arguments: object, **_settings: object) -> Iterator[None]:
        yield

    monkeypatch.setattr(run_session, "session", session)
    monkeypatch.setattr(expression_checker, "parser_of", lambda _spark: None)
    monkeypatch.setattr(QueryNetwork, "start", lambda *_arguments, **_settings: Stopped())


@pytest.mark.usefixtures("no_spark")
def test_the_micro_batch_that_ends_a_run_is_told_too(document: Path) -> None:
    outcome = streamshed("run", document, "--json", "--sink", "memory:answers")
    assert outcome.code == ExitCode.DONE
    assert [json.loads(line)["micro_batch_id"] for line in outcome.output.splitlines()] == [0, 1, 2]


@pytest.mark.parametrize(
    ("more", "options"),
    [
        ((), {}),
        (("--sink", "kafka:answers@127.0.0.1:1"), connector_settings([KAFKA])),
        (("--sink", "delta:out/table"), connector_settings([DELTA])),
        (("--sink", "kafka:answers@127.0.0.1:1", "--jars", "a.jar"), {"spark.jars": "a.jar"}),
    ],
)
@pytest.mark.usefixtures("no_spark")
def test_the_connector_is_fetched_where_it_is_needed(
    document: Path, more: tuple[str, ...], options: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[Mapping[str, str]] = []

    @contextmanager
    def session(_name: str, **settings: Any) -> Iterator[None]:
        given.append(settings["options"])
        yield

    monkeypatch.setattr(run_session, "session", session)
    assert streamshed("run", document, *more).code == ExitCode.DONE
    assert given == [options]


@pytest.mark.usefixtures("no_spark")
def test_no_connector_is_fetched_that_does_not_run_here(document: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connector, "DELTA", replace(DELTA, last_release="4.1"))
    outcome = streamshed("run", document, "--sink", "delta:out/table")
    assert outcome.code == ExitCode.REFUSED
    assert "no build of the connector to Delta Lake runs on PySpark" in outcome.errors


@pytest.mark.usefixtures("no_spark")
@pytest.mark.parametrize(
    ("said", "sink"),
    [
        ("delta:out/table", delta_sink("out/table")),
        ("iceberg:live.answers@lake", iceberg_sink("live.answers", "lake")),
        ("postgres:answers@host=db", postgres_sink("answers", "host=db")),
    ],
)
def test_answers_go_where_the_option_says(
    document: Path, said: str, sink: Sink, monkeypatch: pytest.MonkeyPatch
) -> None:
    sinks = []

    def start(_network: QueryNetwork, _spark: None, *, sink: Sink, **_settings: object) -> Stopped:
        sinks.append(sink)
        return Stopped()

    monkeypatch.setattr(QueryNetwork, "start", start)
    assert streamshed("run", document, "--sink", said).code == ExitCode.DONE
    assert sinks == [sink]


@pytest.mark.usefixtures("no_spark")
def test_and_counts_in_the_summary(document: Path) -> None:
    assert "stopped after 3 micro-batches: 3 k rows, 100 % of them used" in streamshed("run", document).errors


@pytest.mark.usefixtures("no_spark")
@pytest.mark.parametrize("said", [", predictions: {parquet: filled, method: linear}}", "}"])
def test_where_predictions_go_is_told_to_the_run(document: Path, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    subset = DOCUMENT.replace("{total: sum(value)}}", "{total: sum(value)}, mode: subset}")
    document.write_text(subset.replace("headroom: 0.7}", "sink: {parquet: out}" + said))
    sinks = []

    def start(_network: QueryNetwork, _spark: None, *, sink: Sink, **_settings: object) -> Stopped:
        sinks.append(sink)
        return Stopped()

    monkeypatch.setattr(QueryNetwork, "start", start)
    folder = document.parent
    assert streamshed("run", document).code == ExitCode.DONE
    arguments = () if "linear" in said else ("--predictions", folder / "filled")
    assert streamshed("run", document, *arguments).code == ExitCode.DONE
    first, second = sinks
    assert isinstance(second, PredictionSink)
    assert isinstance(first, PredictionSink) == ("linear" in said)
    assert (second.answers.path, second.predictions) == (str(folder / "out"), str(folder / "filled"))
    assert second.method == ("linear" if "linear" in said else "local")
    assert [query.name for query in second.queries] == ["total"]


@pytest.mark.usefixtures("no_spark")
def test_sql_is_run_as_the_document_that_is_equal(document: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    starts = []

    def start(network: QueryNetwork, _spark: None, *, trigger: str, headroom: float, **_settings: object) -> Stopped:
        starts.append((network, trigger, headroom))
        return Stopped()

    monkeypatch.setattr(QueryNetwork, "start", start)
    statements = document.with_suffix(".sql")
    statements.write_text(
        "CREATE STREAM ticks WATERMARK FOR timestamp AS timestamp WITH (rows_per_second = 10);"
        "CREATE QUERY total AS SELECT sum(value) AS total FROM ticks GROUP BY window(timestamp, '1 minute');"
        "SET trigger = '5 seconds', headroom = 0.7;"
    )
    for file in (document, statements):
        assert streamshed("run", file).code == ExitCode.DONE
    assert starts[0] == starts[1]
