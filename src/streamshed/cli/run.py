"""`streamshed run`: runs a network document until it is stopped."""

from pathlib import Path
from typing import Any

import click

from streamshed.cli.terminal.exit_code import ExitCode
from streamshed.cli.terminal.parameters import BYTE_SIZE, DURATION, SINK, WORKERS
from streamshed.elasticity.controller_names import CONTROLLER_NAMES
from streamshed.network.words.policy_names import POLICY_NAMES


@click.command(short_help="Run a network document until it is stopped.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--checkpoint", help="The checkpoint's folder.  [default: a new one, removed afterwards]")
@click.option("--sink", type=SINK, help="Where answers go: console, parquet:FOLDER or memory:NAME.  [default: console]")
@click.option(
    "--predictions", help="A folder for predictions of windows that were dropped; answers must go to Parquet."
)
@click.option(
    "--trigger",
    "trigger_microseconds",
    type=DURATION,
    help="How often a micro-batch starts.  [default: 2 seconds]",
)
@click.option(
    "--latency",
    "latency_microseconds",
    type=DURATION,
    help="The goal from a row's arrival to its answer.  [default: two triggers]",
)
@click.option("--headroom", type=float, help="The share of the time that a plan may fill.  [default: 0.8]")
@click.option(
    "--policy",
    type=click.Choice(POLICY_NAMES),
    help="How what is shed is chosen.  [default: least_error]",
)
@click.option("--fudge", type=float, help="What the policy hoeffding adds to the C of each query.  [default: 0]")
@click.option("--statistics", help="What is known of the network before it runs, as JSON.  [default: nothing]")
@click.option("--advisory/--no-advisory", default=None, help="Plan, but shed nothing.")
@click.option(
    "--unscalable",
    type=click.Choice(["refuse", "keep"]),
    help="Approximate queries that the policy cannot answer: refuse them, or give them all of their rows."
    "  [default: refuse]",
)
@click.option("--confidence", type=float, help="How sure error bounds are, in (0, 1).  [default: 0.95]")
@click.option(
    "--state-limit",
    "state_limit_bytes",
    type=BYTE_SIZE,
    help="How much state may take before queries that tolerate gaps make room.  [default: as much as there is]",
)
@click.option("--publish-needs", help="A file that tells what is needed of the streams, for networks that feed them.")
@click.option("--workers", type=WORKERS, help="How few and how many workers there may be, such as 1..6.")
@click.option(
    "--controller", type=click.Choice(CONTROLLER_NAMES), help="Who decides on workers.  [default: predictive]"
)
@click.option("--master", help="A cluster, such as spark://HOST:7077.  [default: this process]")
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="Address of this machine on which a cluster's workers ask for plans.",
)
@click.option(
    "--worker-patience",
    type=DURATION,
    default="2 minutes",
    show_default=True,
    help="How long a cluster may give no worker at all before that is an error.",
)
@click.option("--duration", type=DURATION, help="Stop by itself after so long.  [default: never]")
@click.option(
    "--cores", type=click.IntRange(min=1), help="Threads of Spark, without --master.  [default: one per core]"
)
@click.option("--memory", default="4g", show_default=True, help="Memory of Spark's driver.")
@click.option("--json", "as_json", is_flag=True, help="Print the state after each micro-batch as one line of JSON.")
def run(
    *,
    file: Path,
    duration: int | None,
    master: str | None,
    host: str,
    worker_patience: int,
    cores: int | None,
    memory: str,
    as_json: bool,
    **settings: Any,
) -> ExitCode:
    """Run the network document FILE until Ctrl-C or SIGTERM, with a live view on standard error.

    Options override what the document says under `run`.
    """
    from streamshed.cli.run_session import RunPlace, RunRequest, run_document

    request = RunRequest(
        file=file,
        settings=settings,
        duration_seconds=None if duration is None else duration / 1e6,
        place=RunPlace(
            master=master, host=host, worker_patience_microseconds=worker_patience, cores=cores, memory=memory
        ),
        as_json=as_json,
    )
    return run_document(request)
