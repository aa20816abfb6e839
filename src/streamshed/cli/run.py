"""`streamshed run`: runs a network document until it is stopped."""

from pathlib import Path
from typing import Any

import click

from streamshed.cli.connectors import jars_option
from streamshed.cli.terminal.exit_code import ExitCode
from streamshed.cli.terminal.logs import LogForm
from streamshed.cli.terminal.parameters import ADDRESS, COLUMNS, DURATION, SINK, SINK_FORMS, WORKERS
from streamshed.cli.terminal.setting_options import setting_options
from streamshed.elasticity.controller_names import CONTROLLER_NAMES


@click.command(short_help="Run a network document until it is stopped.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--sink", type=SINK, help=f"Where answers go: {SINK_FORMS}.  [default: console]")
@click.option(
    "--partition-by",
    type=COLUMNS,
    help="Columns of answers to partition by, such as query. For a sink of Parquet, Delta Lake or Iceberg."
    "  [default: the document's]",
)
@click.option(
    "--predictions",
    help="Folder for predictions of dropped windows. Answers must go to Parquet.  [default: the document's]",
)
@setting_options()
@click.option("--workers", type=WORKERS, help="The fewest and most workers, such as 1..6.  [default: the document's]")
@click.option(
    "--controller",
    type=click.Choice(CONTROLLER_NAMES),
    help="The rule that decides how many workers there are.  [default: the document's, else predictive]",
)
@click.option("--master", help="A cluster, such as spark://HOST:7077.  [default: this process]")
@jars_option
@click.option("--duration", type=DURATION, help="Stop after this time.  [default: never]")
@click.option(
    "--cores", type=click.IntRange(min=1), help="Threads of Spark, without --master.  [default: one per core]"
)
@click.option("--memory", default="4g", show_default=True, help="Memory of Spark's driver.")
@click.option(
    "--page",
    type=ADDRESS,
    help="Serve the page of the run here, where queries can be changed.",
)
@click.option("--metrics", type=ADDRESS, help="Serve metrics to Prometheus here, such as 127.0.0.1:9464.")
@click.option("--push-metrics", is_flag=True, help="Push metrics by OpenTelemetry. Needs its SDK.")
@click.option("--traces", is_flag=True, help="Send OpenTelemetry a span per micro-batch and step. Needs its SDK.")
@click.option(
    "--log",
    type=click.Choice([form.value for form in LogForm]),
    help="Write the log to standard error instead of the live view.",
)
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print a status per micro-batch as a line of JSON. Answers must go elsewhere.",
)
def run(  # noqa: PLR0913 - one for each option
    *,
    file: Path,
    duration: int | None,
    master: str | None,
    cores: int | None,
    memory: str,
    page: tuple[str, int] | None,
    metrics: tuple[str, int] | None,
    push_metrics: bool,
    traces: bool,
    log: str | None,
    jars: str | None,
    as_json: bool,
    **settings: Any,
) -> ExitCode:
    """Run the network document FILE until Ctrl-C or SIGTERM. The first lets the micro-batch end, a second interrupts.

    Options override `run` of the document. A terminal shows a live view, unless answers are printed; else there is a
    line per micro-batch.
    """
    from streamshed.cli.run_session import RunPlace, RunRequest, run_document

    request = RunRequest(
        file=file,
        settings=settings,
        duration_seconds=None if duration is None else duration / 1e6,
        place=RunPlace(master=master, cores=cores, memory=memory, jars=jars),
        page=page,
        metrics=metrics,
        push_metrics=push_metrics,
        traces=traces,
        log=None if log is None else LogForm(log),
        as_json=as_json,
    )
    return run_document(request)
