"""`streamshed explain`: what would be shed at some load, where, and what it would cost the answers."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from streamshed.cli.terminal.parameters import POSITIVE_NUMBER
from streamshed.cli.terminal.setting_options import setting_options

if TYPE_CHECKING:
    from streamshed.dashboard.explained_network import ExplainedNetwork
    from streamshed.network.document.document import NetworkDocument


@click.command(short_help="Explain what would be shed at a load, and what that costs the answers.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--load", default=3.0, type=POSITIVE_NUMBER, help="Rows per second ÷ those sustained without shedding.")
@click.option(
    "--statistics",
    type=click.Path(path_type=Path),
    help="A JSON file of statistics.  [default: the document's, else guesses]",
)
@setting_options("policy", "confidence", "fudge", "trigger", "latency", "headroom")
@click.option(
    "--picture",
    type=click.Path(path_type=Path),
    help="Draw the network with its samplers into this PNG. Dashed edges are guessed costs.",
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object. `costs_are_guessed` is true without statistics."
)
def explain(
    *,
    file: Path,
    load: float,
    statistics: Path | None,
    picture: Path | None,
    as_json: bool,
    **options: object,
) -> None:
    """Explain what the network document FILE would shed: samplers, rates and expected errors.

    Nothing runs. Neither Spark nor Java is needed. Options override `run` of the document.
    """
    from streamshed.network.document.document import load_network

    explained = _explained(load_network(file), load, statistics, options)
    if picture is not None:
        explained.draw(picture)
    click.echo(explained.to_json() if as_json else str(explained))


def _explained(
    document: "NetworkDocument", load: float, statistics: Path | None, options: Mapping[str, object]
) -> "ExplainedNetwork":
    from streamshed.cli.given_statistics import file_of, statistics_for
    from streamshed.cli.run_overrides import overridden
    from streamshed.cli.told_costs import workers_by
    from streamshed.columnar.row_ways import record_ways, row_ways
    from streamshed.control.lasting_load import load_planner
    from streamshed.control.settings import ControlSettings
    from streamshed.dashboard.explained_network import ExplainedNetwork

    run = overridden(replace(document.run, elastic=None), options)
    foundation = document.network.foundation
    network_statistics = statistics_for(foundation, file_of(run, statistics))
    return ExplainedNetwork(
        load_planner(document.network, network_statistics, ControlSettings.of(run)).plan_at(load),
        document.run.predictions,
        workers_by(network_statistics, foundation, replace(run, elastic=document.run.elastic)),
        row_ways(foundation),
        record_ways(foundation),
        costs_are_guessed=file_of(run, statistics) is None,
        max_age=run.max_age,
    )
