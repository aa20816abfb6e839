"""`streamshed explain`: what would be shed at some load, where, and what it would cost the answers."""

from pathlib import Path

import click

from streamshed.cli.group import show_note
from streamshed.cli.parameters import DURATION, POSITIVE_NUMBER
from streamshed.errors import InvalidStatisticsError, SourceUnavailableError
from streamshed.planning.rate_policies import DEFAULT_RATE_POLICY, RATE_POLICIES
from streamshed.statistics.network_statistics import NetworkStatistics


@click.command(short_help="Say what would be shed at some load, where, and at what cost to the answers.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--load", default=3.0, type=POSITIVE_NUMBER, help="Times the load that is sustained without shedding.")
@click.option("--statistics", type=click.Path(path_type=Path), help="What is known of the network, as JSON.")
@click.option(
    "--policy", default=DEFAULT_RATE_POLICY, type=click.Choice(list(RATE_POLICIES)), help="How rates are chosen."
)
@click.option("--trigger", type=DURATION, help="How often a micro-batch starts; else as the document says.")
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
    policy: str,
    trigger: int | None,
    headroom: float | None,
    picture: Path | None,
    as_json: bool,
) -> None:
    """Explain what the network document FILE would shed: samplers, rates, expected errors, and what bounds them.

    Nothing runs, and neither Spark nor Java is needed.
    """
    from streamshed.dashboard.explained_network import ExplainedNetwork
    from streamshed.network.document import load_network
    from streamshed.planning.explanation import explain as planned
    from streamshed.planning.network_load import strangers
    from streamshed.statistics.guess import believed_statistics

    document = load_network(file)
    foundation = document.network.foundation
    if statistics is None:
        show_note("costs and selectivities are guessed (--statistics gives those that were measured)")
        known = believed_statistics(foundation, None)
    else:
        given = _read(statistics)
        for stranger in strangers(foundation, given):
            show_note(f"{statistics}: {stranger}")
        known = believed_statistics(foundation, given)
    found = ExplainedNetwork(
        planned(
            foundation,
            known,
            load_factor=load,
            policy=policy,
            trigger_interval_seconds=(trigger or document.run.trigger_microseconds) / 1e6,
            headroom=headroom or document.run.headroom,
        )
    )
    if picture is not None:
        found.draw(picture)
    click.echo(found.to_json() if as_json else str(found))


def _read(file: Path) -> NetworkStatistics:
    try:
        return NetworkStatistics.from_json(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise SourceUnavailableError(f"statistics {file}: cannot be read: {error.strerror}") from error
    except InvalidStatisticsError as error:
        raise InvalidStatisticsError(f"{file}: {error}") from error
