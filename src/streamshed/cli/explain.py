"""`streamshed explain`: what would be shed at some load, where, and what it would cost the answers."""

from pathlib import Path

import click

from streamshed.cli.terminal.parameters import DURATION, POSITIVE_NUMBER
from streamshed.network.words.policy_names import POLICY_NAMES


@click.command(short_help="Say what would be shed at some load, where, and at what cost to the answers.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--load", default=3.0, type=POSITIVE_NUMBER, help="Times the load that is sustained without shedding.")
@click.option(
    "--statistics",
    type=click.Path(path_type=Path),
    help="What is known of the network, as JSON; else as the document says.",
)
@click.option("--policy", type=click.Choice(POLICY_NAMES), help="How rates are chosen; else as the document says.")
@click.option("--confidence", type=float, help="How sure bounds are, 1 − δ of the policy hoeffding; else likewise.")
@click.option("--fudge", type=float, help="What that policy adds to the C of each query; else likewise.")
@click.option("--trigger", type=DURATION, help="How often a micro-batch starts; else as the document says.")
@click.option("--latency", type=DURATION, help="Goal from a row's arrival to its answer; else likewise.")
@click.option(
    "--headroom",
    type=click.FloatRange(0, 1, min_open=True),
    help="Share of the trigger that a plan may fill; else likewise.",
)
@click.option("--picture", type=click.Path(path_type=Path), help="Draw the network with its samplers into this PNG.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def explain(
    *,
    file: Path,
    load: float,
    statistics: Path | None,
    picture: Path | None,
    as_json: bool,
    trigger: int | None,
    latency: int | None,
    **options: object,
) -> None:
    """Explain what the network document FILE would shed: samplers, rates, expected errors, and what bounds them.

    Nothing runs, and neither Spark nor Java is needed.
    """
    from dataclasses import replace

    from streamshed.cli.given_statistics import file_of, statistics_for
    from streamshed.cli.run_overrides import overridden
    from streamshed.cli.told_costs import workers_by
    from streamshed.dashboard.explained_network import ExplainedNetwork
    from streamshed.network.document.document import load_network
    from streamshed.planning.explain.explanation import explain as planned
    from streamshed.planning.plan.budget import deadline_for
    from streamshed.planning.rates.hoeffding import HoeffdingSettings

    document = load_network(file)
    given = {"trigger_microseconds": trigger, "latency_microseconds": latency, **options}
    run = overridden(replace(document.run, elastic=None), given)
    trigger_seconds, goal = run.trigger_microseconds / 1e6, run.latency_microseconds
    foundation = document.network.foundation
    network_statistics = statistics_for(foundation, file_of(run, statistics))
    explained = ExplainedNetwork(
        planned(
            foundation,
            network_statistics,
            load_factor=load,
            policy=run.policy,
            trigger_interval_seconds=trigger_seconds,
            deadline_seconds=min(trigger_seconds, deadline_for(trigger_seconds, None if goal is None else goal / 1e6)),
            headroom=run.headroom,
            hoeffding=HoeffdingSettings(exceeded_share=1 - run.confidence, fudge=run.fudge),
        ),
        document.run.predictions,
        workers_by(network_statistics, foundation, replace(run, elastic=document.run.elastic)),
    )
    if picture is not None:
        explained.draw(picture)
    click.echo(explained.to_json() if as_json else str(explained))
