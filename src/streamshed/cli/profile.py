"""`streamshed profile`: what rows, operators and queries of a network are like, measured."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from streamshed.cli.connectors import connector_options, jars_option
from streamshed.cli.terminal.consoles import waiting
from streamshed.cli.terminal.parameters import DURATION
from streamshed.errors import SinkUnavailableError

if TYPE_CHECKING:
    from streamshed.spark import Run

_LOOK_SECONDS = 0.2
_QUIET_MICRO_BATCHES = 3


@click.command(short_help="Measure costs and rows of a network.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--out", type=click.Path(path_type=Path, dir_okay=False), help="The JSON file to write.  [default: printed]"
)
@click.option(
    "--duration",
    "duration_microseconds",
    type=DURATION,
    help="Longest time to measure.  [default: until no rows come]",
)
@click.option("--cores", type=click.IntRange(min=1), help="Threads of Spark.  [default: one per core]")
@click.option("--memory", default="4g", show_default=True, help="Memory of Spark.")
@jars_option
def profile(
    *,
    file: Path,
    out: Path | None,
    duration_microseconds: int | None,
    cores: int | None,
    memory: str,
    jars: str | None,
) -> None:
    """Run the network document FILE on what its sources hold, shed nothing, and write statistics.

    Give the statistics to `--statistics` of other commands, or to `network.start`. Sink and checkpoint of the document
    are not touched. A folder is read in about twelve micro-batches of two sizes, unless `max_files_per_micro_batch` is
    set. A stream whose row costs are uncertain by more than a factor of two is named: give it more rows.
    """
    from streamshed.cli.given_statistics import note_unsure_costs
    from streamshed.cli.profiled_document import in_several_micro_batches
    from streamshed.cli.spark_session import session
    from streamshed.network.document.document import load_network

    options = connector_options(load_network(file).network, jars)
    with session(f"streamshed profile {file.name}", cores=cores, memory=memory, options=options) as spark:
        from streamshed.spark.profile import profiled

        seconds = None if duration_microseconds is None else duration_microseconds / 1e6
        with (
            waiting(f"profiling {file.name}"),
            tempfile.TemporaryDirectory(prefix="streamshed-profile-", ignore_cleanup_errors=True) as scratch,
        ):
            document = in_several_micro_batches(load_network(file), Path(scratch))
            statistics = profiled(document, spark, until=lambda run: wait_until_quiet(run, seconds))
    note_unsure_costs(statistics)
    text = statistics.to_json()
    if out is None:
        click.echo(text)
        return
    try:
        out.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise SinkUnavailableError(f"statistics: cannot write {out}: {error.strerror}") from error


def wait_until_quiet(run: Run, seconds: float | None = None) -> None:
    """Wait until no more rows come in any time domain, or the run has ended, or the time is over.

    Args:
        run: What runs.
        seconds: How long at most; None: as long as rows come.
    """
    deadline = None if seconds is None else time.monotonic() + seconds
    latest: dict[str, int] = {}
    quiet = dict.fromkeys(run.statuses(), 0)
    while min(quiet.values()) < _QUIET_MICRO_BATCHES and (deadline is None or time.monotonic() < deadline):
        if run.await_termination(_LOOK_SECONDS):
            return
        for status in run.statuses_since(latest):
            latest[status.clock] = max(status.micro_batch_id, latest.get(status.clock, -1))
            quiet[status.clock] = 0 if status.offered_rows else quiet[status.clock] + 1
