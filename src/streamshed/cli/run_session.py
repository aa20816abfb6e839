"""One run of a document: everything is checked, Spark is started, the run is shown until it ends."""

from __future__ import annotations

import logging
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streamshed.answering.predict.predicted_query import predicted_in_runs
from streamshed.answering.table.answer_schema import answer_columns
from streamshed.cli.connectors import connector_options
from streamshed.cli.ctl.request_box import Reply, RequestBox
from streamshed.cli.given_statistics import statistics_for
from streamshed.cli.run_overrides import overridden
from streamshed.cli.spark_session import session
from streamshed.cli.terminal.consoles import message_console, waiting
from streamshed.cli.terminal.exit_code import ExitCode
from streamshed.cli.terminal.failure import RunFailedError, failure_text
from streamshed.cli.terminal.logs import LogForm, logging_to_standard_error
from streamshed.cli.terminal.stopping import Stopping
from streamshed.cli.told_costs import prior_by
from streamshed.dashboard.views import JsonView, LogView, NoView, TerminalView, View
from streamshed.dashboard.watch import shown, watch
from streamshed.errors import SinkUnavailableError
from streamshed.network.document.document import Language, document_in_yaml, document_text, parse_network
from streamshed.network.model.source_folder import require_folder
from streamshed.network.run.run_settings import CONSOLE, RunSettings
from streamshed.network.words.wording import count_text, share_text

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from streamshed.dashboard.run_history import RunHistory
    from streamshed.dashboard.run_metrics import RunMetrics
    from streamshed.dashboard.run_traces import RunTraces
    from streamshed.network.document.document import NetworkDocument
    from streamshed.network.model.network import QueryNetwork
    from streamshed.spark.run import Run
    from streamshed.spark.sinks.sinks import Sink


_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class RunPlace:
    """Where `streamshed run` runs.

    Args:
        master: A cluster; None: this process.
        cores: Threads of Spark in this process; None: one per core.
        memory: Of Spark's driver, such as "4g".
        jars: Of connectors, as `spark.jars` takes them; None: that of Kafka is fetched where it is needed.
    """

    master: str | None
    cores: int | None
    memory: str
    jars: str | None = None


@dataclass(frozen=True, kw_only=True)
class RunRequest:
    """What `streamshed run` was asked.

    Args:
        file: The document.
        settings: What overrides its settings, as `overridden` takes it; None is what was not said.
        duration_seconds: Stop after so long; None: never.
        place: Where it runs.
        page: Where the run is shown as a page: host and port; None: nowhere.
        metrics: Where Prometheus is told metrics: host and port; None: nowhere.
        push_metrics: Whether OpenTelemetry is told metrics.
        traces: Whether OpenTelemetry is told of the micro-batches.
        log: How the log is written to standard error, in the place of a view; None: it is not.
        as_json: Lines of JSON instead of a live view.
    """

    file: Path
    settings: Mapping[str, Any]
    duration_seconds: float | None
    place: RunPlace
    page: tuple[str, int] | None
    metrics: tuple[str, int] | None
    push_metrics: bool
    traces: bool
    log: LogForm | None
    as_json: bool


def run_document(request: RunRequest) -> ExitCode:
    """Run a document until it ends or is stopped.

    Raises:
        RunFailedError: It failed while it ran.
        StreamshedError: Something cannot be; nothing ran.
    """
    text, language = document_text(request.file), Language.of(request.file)
    folder = request.file.parent
    # Before Spark starts, which takes seconds; then again with Spark's parser.
    parsed = parse_network(text, folder=folder, language=language)
    settings = overridden(parsed.run, request.settings)
    _check_output(request, settings)
    for stream in parsed.network.all_streams:
        require_folder(stream)
    if settings.predictions is not None:
        predicted_in_runs(parsed.network)
    name, place = f"streamshed {request.file.name}", request.place
    jars = connector_options(parsed.network, place.jars, sink=settings.sink.kind)
    with (
        logging_to_standard_error(request.log),
        session(name, cores=place.cores, memory=place.memory, master=place.master, options=jars) as spark,
        _checkpoint(settings) as checkpoint,
    ):
        from streamshed.spark.operators.expression_checker import parser_of

        document = parse_network(text, folder=folder, expression_checker=parser_of(spark), language=language)
        return _run(document, settings, request, spark=spark, checkpoint=checkpoint)


def _check_output(request: RunRequest, settings: RunSettings) -> None:
    """Let not two things write to standard output, and answers be partitioned by columns that they have."""
    answer_columns(settings.sink.partition_by)
    if request.as_json and settings.sink.kind == CONSOLE:
        raise SinkUnavailableError(
            f"{request.file}: answers go to standard output (sink console), and so would the lines of --json;"
            " choose where answers go, with --sink parquet:FOLDER or --sink memory:NAME, or leave --json out"
        )


def _run(
    document: NetworkDocument,
    settings: RunSettings,
    request: RunRequest,
    *,
    spark: SparkSession,
    checkpoint: str,
) -> ExitCode:
    measured = _measured_before(document.network, settings)
    with waiting(f"starting {request.file.name}"):
        running = document.network.start(
            spark,
            checkpoint=checkpoint,
            sink=_sink(settings, document.network),
            **settings.common() | measured,
        )
    with (
        running,
        faces(request, running, checkpoint),
        _requests(request, running, spark, checkpoint) as serve_requests,
        Stopping(duration_seconds=request.duration_seconds) as stopping,
        _view(request, settings) as view,
    ):

        def wait(seconds: float) -> bool:
            serve_requests()
            return stopping.wait(seconds)

        history = watch(running, view, wait=wait, note=lambda _history: running.waits_for)
        failure = running.exception
        view.show(history, note="stopping after this micro-batch")
        running.stop()
        history = shown(running, view, history)
    if failure is not None:
        raise RunFailedError(failure_text(failure)) from failure
    if not request.as_json:
        _say(request, _summary(history))
    return ExitCode.DONE


@contextmanager
def faces(request: RunRequest, running: Run, checkpoint: str) -> Iterator[None]:
    """Show the page, and tell metrics and traces meanwhile, where that was asked for.

    A page and metrics at the same address are served by one server.

    Args:
        request: What was asked.
        running: The run.
        checkpoint: Its checkpoint.
    """
    with ExitStack() as shown:
        beside = {}
        if request.metrics is not None and request.metrics == request.page:
            from streamshed.dashboard.metrics_server import PrometheusMetrics

            beside["/metrics"] = shown.enter_context(PrometheusMetrics(running)).text
        if request.page is not None:
            from streamshed.page.changes import Changes
            from streamshed.page.serving import PageServer

            host, port = request.page
            box = RequestBox(checkpoint)
            changes = Changes(box.running, box.ask, folder=request.file.parent)
            page = shown.enter_context(PageServer(checkpoint, host=host, port=port, changes=changes, beside=beside))
            _say(request, f"page: {page.url}")
            for path in beside:
                _say(request, f"metrics: {page.url.partition('?')[0].rstrip('/')}{path}")
        if request.metrics is not None and not beside:
            from streamshed.dashboard.metrics_server import MetricsServer

            host, port = request.metrics
            served = shown.enter_context(MetricsServer(running, host=host, port=port))
            _say(request, f"metrics: {served.url}")
        for subject, follower in _told_to_opentelemetry(request, running):
            shown.enter_context(follower)
            if not follower.has_receiver:
                _say(request, f"{subject}: no OpenTelemetry SDK takes them in; start it by opentelemetry-instrument")
        yield


def _told_to_opentelemetry(request: RunRequest, running: Run) -> Iterator[tuple[str, RunMetrics | RunTraces]]:
    if request.push_metrics:
        from streamshed.dashboard.run_metrics import RunMetrics

        yield "metrics", RunMetrics(running)
    if request.traces:
        from streamshed.dashboard.run_traces import RunTraces

        yield "traces", RunTraces(running)


def _say(request: RunRequest, text: str) -> None:
    """Say something on standard error, or log it where that is a log."""
    if request.log is None:
        message_console().print(text, soft_wrap=True)
    else:
        _log.info(text)


@contextmanager
def _requests(request: RunRequest, running: Run, spark: SparkSession, checkpoint: str) -> Iterator[Callable[[], None]]:
    """Take requests of `streamshed ctl` meanwhile; yields what does those that have come."""
    from streamshed.spark.operators.expression_checker import parser_of

    box = RequestBox(checkpoint)
    box.begin(document_in_yaml(request.file))

    def network(text: str) -> QueryNetwork:
        return parse_network(text, folder=request.file.parent, expression_checker=parser_of(spark)).network

    def explain(text: str) -> Reply:
        return Reply(explanation=str(running.explain_hand_over(network(text))))

    def hand_over(text: str) -> Reply:
        handed = running.hand_over(network(text))
        first_windows = {name: None if start is None else str(start) for name, start in handed.first_windows.items()}
        return Reply(pause_seconds=handed.pause_seconds, first_windows=first_windows)

    try:
        yield lambda: box.serve(hand_over, explain)
    finally:
        box.end()


def _measured_before(network: QueryNetwork, settings: RunSettings) -> dict[str, Any]:
    """What is known before the first micro-batch, as `network.start` takes it."""
    if settings.statistics is None:
        return {}
    statistics = statistics_for(network.foundation, Path(settings.statistics))
    return {"statistics": statistics, "prior": prior_by(statistics, network.foundation, settings)}


@contextmanager
def _checkpoint(settings: RunSettings) -> Iterator[str]:
    if settings.checkpoint is not None:
        yield settings.checkpoint
        return
    with tempfile.TemporaryDirectory(prefix="streamshed-", ignore_cleanup_errors=True) as folder:
        yield folder


def _sink(settings: RunSettings, network: QueryNetwork) -> Sink:
    from streamshed import spark

    place = settings.sink.place
    if (filled := settings.predictions) is not None:
        return spark.predicting_sink(network, answers=place, predictions=filled.path, method=filled.method)
    match settings.sink.kind:
        case "parquet":
            return spark.parquet_sink(place, partition_by=settings.sink.partition_by)
        case "memory":
            return spark.memory_sink(place)
        case "delta":
            return spark.delta_sink(place, partition_by=settings.sink.partition_by)
        case "kafka":
            return spark.kafka_sink(place, settings.sink.address, options=dict(settings.sink.options))
        case "postgres":
            return spark.postgres_sink(place, settings.sink.address)
        case "iceberg":
            return spark.iceberg_sink(place, settings.sink.address, partition_by=settings.sink.partition_by)
    return spark.console_sink()


def _view(request: RunRequest, settings: RunSettings) -> View:
    """Answers that are printed would tear a live view apart, so there it is a log."""
    if request.as_json:
        return JsonView(sys.stdout)
    if request.log is not None:
        return NoView()
    console = message_console()
    if console.is_terminal and settings.sink.kind != CONSOLE:
        return TerminalView(console, request.file.name)
    return LogView(console)


def _summary(history: RunHistory) -> str:
    admitted_share = history.admitted_rows / history.offered_rows if history.offered_rows else 1.0
    return (
        f"stopped after {history.micro_batches} micro-batches: {count_text(history.offered_rows)} rows,"
        f" {share_text(admitted_share)} of them used"
    )
