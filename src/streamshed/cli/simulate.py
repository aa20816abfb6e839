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


@click.command(short_help="Say how many workers a load takes, and what would be shed, before anything runs.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--load",
    default="flash_crowd",
    show_default=True,
    help="burst, ramp, diurnal or flash_crowd, with a factor if you like (flash_crowd:10x); steps (1x:60s,3x:60s);"
    " a file of rows per second; or recorded rows as Parquet.",
)
@click.option(
    "--workers", type=WORKERS, help="How few and how many there may be; else as the document's elastic says, or 1..16."
)
@click.option("--initial", type=click.IntRange(min=1), help="Workers to begin with; else so many that τ is τ1.")
@click.option(
    "--controller",
    type=click.Choice(CONTROLLER_NAMES),
    help=f"Who decides on workers; else as the document says, or {DEFAULT_CONTROLLER}.",
)
@click.option("--thresholds", type=THRESHOLDS, help="Utilizations τ0,τ1,τ2,τ3; else likewise, or by the headroom, τ2.")
@click.option("--shed/--no-shed", default=True, show_default=True, help="Whether load may be shed at all.")
@click.option(
    "--statistics",
    type=click.Path(path_type=Path),
    help="What is known of the network, as JSON; else as the document says.",
)
@click.option("--rows-per-second", type=POSITIVE_NUMBER, help="1×, of all streams; else as recorded, or known.")
@click.option("--time", "time_column", default="ts", show_default=True, help="Recorded rows: their column of times.")
@click.option("--duration", type=DURATION, help="For how long; else as long as the load lasts.")
@setting_options("trigger", "latency", "headroom")
@click.option(
    "--partitions", type=click.IntRange(min=1), help="In how many pieces work comes; else likewise, or in any number."
)
@click.option("--skew", default=0.0, type=click.FloatRange(min=0), help="The k-th largest piece is as k^-skew.")
@click.option("--divisible", is_flag=True, help="Pieces can be cut finer, as files of many rows can.")
@click.option("--start", type=DURATION, help="From asking for a worker to load; else likewise, or 30 s.")
@click.option("--move", default="0 s", show_default=True, type=DURATION, help="What loading state anew takes.")
@click.option("--noise", default=0.1, show_default=True, type=click.FloatRange(0, 2), help="Deviation of ln(duration).")
@click.option("--stragglers", default=0.0, type=click.FloatRange(0, 1), help="Share of workers that are twice as slow.")
@click.option("--failures", default=0.0, type=click.FloatRange(min=0), help="How often a worker dies in a day.")
@click.option("--wrong-by", default=1.0, type=POSITIVE_NUMBER, help="What is believed of a row's cost ÷ the truth.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Equal seeds, equal runs.")
@click.option("--picture", type=click.Path(path_type=Path), help="Draw it into this PNG.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
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
    """Simulate the network document FILE on a cluster: the control loop and planners of real runs, in virtual time.

    A worker is the machine that the statistics are of. Nothing runs, and neither Spark nor Java is needed.
    """
    from streamshed.cli.given_statistics import file_of, statistics_for
    from streamshed.cli.simulation import SimulationRequest, simulated
    from streamshed.cli.terminal.group import show_note
    from streamshed.cli.terminal.progress import progress_of
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
