"""`streamshed simulate`: what a network would do on a cluster under a load, before anything runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from streamshed.cli.terminal.parameters import DURATION, POSITIVE_NUMBER, THRESHOLDS, WORKERS
from streamshed.cli.terminal.setting_options import setting_options
from streamshed.elasticity.controller_names import CONTROLLER_NAMES, DEFAULT_CONTROLLER
from streamshed.elasticity.thresholds import Thresholds

if TYPE_CHECKING:
    from streamshed.cli.simulation import SimulationRequest


@click.command(short_help="Simulate a load: how many workers it needs, and what is shed.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--load",
    default="flash_crowd",
    show_default=True,
    help="`burst`, `ramp`, `diurnal` (1× to 3×), `flash_crowd` (1× to 10×), or another factor: `burst:5x`; steps:"
    " `1x:60s,3x:60s`; a file with the rows of each second; recorded rows in Parquet.",
)
@click.option(
    "--workers",
    type=WORKERS,
    help="The fewest and most workers.  [default: the document's, else 1 to `--partitions` or 16]",
)
@click.option(
    "--initial", type=click.IntRange(min=1), help="Workers at the start.  [default: enough for twice the mean load]"
)
@click.option(
    "--controller",
    type=click.Choice(CONTROLLER_NAMES),
    help=f"The rule that decides how many workers there are.  [default: the document's, else {DEFAULT_CONTROLLER}]",
)
@click.option(
    "--thresholds",
    type=THRESHOLDS,
    help="Utilizations release, initial, shed, add: `0.2,0.4,0.8,0.95`.  [default: the document's, else shed is the"
    " headroom]",
)
@click.option("--shed/--no-shed", default=True, show_default=True, help="Whether load may be shed.")
@click.option(
    "--statistics",
    type=click.Path(path_type=Path),
    help="A JSON file of statistics. One worker is their machine.  [default: the document's, else guesses]",
)
@click.option(
    "--rows-per-second",
    type=POSITIVE_NUMBER,
    help="Rows per second of all streams at 1×.  [default: the mean of the recording, else the statistics']",
)
@click.option("--time", "time_column", default="ts", show_default=True, help="Time column of recorded rows.")
@click.option(
    "--duration",
    type=DURATION,
    help="Simulated time. Shapes and steps must reach their largest load.  [default: as long as the load]",
)
@setting_options("trigger", "latency", "headroom", "max_age")
@click.option(
    "--down",
    nargs=2,
    type=DURATION,
    metavar="AT FOR",
    help="When the run stops, and for how long; rows gather: `--down '10 min' '1 hour'`.",
)
@click.option(
    "--partitions",
    type=click.IntRange(min=1),
    help="How many tasks share the work.  [default: the document's, else any number]",
)
@click.option(
    "--skew",
    default=0.0,
    type=click.FloatRange(min=0),
    help="The k-th largest task has work as k^−skew. 0: all equal. Needs partitions.",
)
@click.option("--divisible", is_flag=True, help="Large tasks can be cut, like files of many rows. Needs partitions.")
@click.option(
    "--start", type=DURATION, help="Time from asking for a worker until it works.  [default: the document's, else 30 s]"
)
@click.option(
    "--move",
    default="0 s",
    show_default=True,
    type=DURATION,
    help="Extra time of the first micro-batch after workers came or went.",
)
@click.option(
    "--noise",
    default=0.1,
    show_default=True,
    type=click.FloatRange(0, 2),
    help="Standard deviation of ln(duration). 0: none.",
)
@click.option(
    "--stragglers",
    default=0.0,
    type=click.FloatRange(0, 1),
    help="Share of workers that are twice as slow, drawn anew per micro-batch.",
)
@click.option("--failures", default=0.0, type=click.FloatRange(min=0), help="Deaths per worker and day.")
@click.option("--wrong-by", default=1.0, type=POSITIVE_NUMBER, help="Cost of a row as first believed ÷ true cost.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Equal seeds, equal runs.")
@click.option(
    "--picture", type=click.Path(path_type=Path), help="Draw load, workers and shedding over time into this PNG."
)
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print one JSON object: `costs_are_guessed`, rescales, times of shedding, queries, joins, the course.",
)
def simulate(
    *,
    file: Path,
    statistics: Path | None,
    picture: Path | None,
    as_json: bool,
    workers: tuple[int, int] | None,
    thresholds: Thresholds | None,
    **options: object,
) -> None:
    """Simulate the network document FILE under a load: how many workers it needs, what is shed, what that costs.

    Control loop, planners and controllers are real; costs, workers and time are simulated. An hour takes about three
    seconds at a trigger of two seconds. `run: elastic` of the document applies. A worker that dies is replaced.
    Nothing runs. Neither Spark nor Java is needed.
    """
    from streamshed.cli.given_statistics import file_of, statistics_for
    from streamshed.cli.simulation import SimulationRequest, simulated
    from streamshed.cli.terminal.group import show_note
    from streamshed.cli.terminal.progress_bar import progress_of
    from streamshed.network.document.document import load_network

    document = load_network(file)
    statistics_file = file_of(document.run, statistics)
    network_statistics = statistics_for(document.network.foundation, statistics_file)
    for joined in (stream.name for stream in document.network.streams if stream.joined is not None):
        guessed = "" if joined in network_statistics.joins else ", what the parts of its join take is guessed"
        show_note(
            f'"{joined}" is a joined stream: its rows are taken for those of a source{guessed}, and that windows are'
            " limited or dropped spares its join nothing here"
        )
    request: SimulationRequest = SimulationRequest(
        workers=workers,
        thresholds=thresholds,
        is_measured=statistics_file is not None and not network_statistics.unsure_streams,
        costs_are_guessed=statistics_file is None,
        **options,  # type: ignore[arg-type]
    )
    with progress_of("simulating") as show:
        simulation = simulated(document, network_statistics, request, progress=lambda share: show(share, ""))
    if picture is not None:
        simulation.draw(picture)
    click.echo(simulation.to_json() if as_json else str(simulation))
