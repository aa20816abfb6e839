"""`streamshed ctl`: the commands."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from streamshed.cli.terminal.parameters import DURATION

_CHECKPOINT = click.argument("checkpoint")
_TIMEOUT = click.option(
    "--timeout",
    type=DURATION,
    default="1 minute",
    show_default=True,
    help="How long to wait for the run. Then the request is withdrawn.",
)
_EXPLAIN = click.option(
    "--explain", is_flag=True, help="Only show what it would cost, and which answers would get worse."
)


def _asking(command: Callable[..., None]) -> Callable[..., None]:
    """The options of all commands that ask a run for something."""
    return _EXPLAIN(_TIMEOUT(command))


@click.group(short_help="Show and change the queries of a running network.")
def ctl() -> None:
    """Show and change the queries of a `streamshed run` while it runs.

    CHECKPOINT is that of the run. Anyone who can write there can change its queries.
    """


@ctl.command("list")
@_CHECKPOINT
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def list_queries(*, checkpoint: str, as_json: bool) -> None:
    """List the running queries and their goals."""
    from streamshed.network.document.edited_document import queries_in

    queries = dict(queries_in(_box(checkpoint).running()))
    if as_json:
        click.echo(json.dumps(queries))
        return
    for name, body in queries.items():
        goals = [f"{goal} {body[goal]}" for goal in _GOALS if goal in body]
        click.echo(": ".join([name, ", ".join(goals)] if goals else [name]))


@ctl.command()
@_CHECKPOINT
def export(*, checkpoint: str) -> None:
    """Print the running document."""
    click.echo(_box(checkpoint).running(), nl=False)


@ctl.command()
@_CHECKPOINT
@_TIMEOUT
def explain(*, checkpoint: str, timeout: int) -> None:
    """Show what the running queries cost at the present load, and how good their answers are."""
    _ask(checkpoint, lambda running: running, timeout, explain=True)


@ctl.command()
@_CHECKPOINT
@click.argument("file", type=click.Path(path_type=Path))
@_asking
def add(*, checkpoint: str, file: Path, timeout: int, explain: bool) -> None:
    """Add the queries of FILE, with their operators and relations.

    FILE has the sections `queries`, `operators` and `relations` of a document, or SQL statements (`.sql`). Relative
    paths begin at the folder of the running document.
    """
    from streamshed.network.document.document import Language, document_text, with_sql
    from streamshed.network.document.edited_document import with_fragment

    added, language = document_text(file), Language.of(file)
    edit = with_sql if language is Language.SQL else with_fragment
    _ask(checkpoint, lambda running: edit(running, added), timeout, explain=explain)


@ctl.command()
@_CHECKPOINT
@click.argument("query")
@_asking
def remove(*, checkpoint: str, query: str, timeout: int, explain: bool) -> None:
    """Remove QUERY. Its open windows are not answered."""
    from streamshed.network.document.edited_document import without_query

    _ask(checkpoint, lambda running: without_query(running, query), timeout, explain=explain)


_GOALS = ("weight", "priority", "mode", "max_error", "max_gap", "gaps_by", "latency")


@ctl.command()
@_CHECKPOINT
@click.argument("query")
@click.option("--weight", type=float, help="How much its error counts.")
@click.option("--priority", type=int, help="Queries of higher priority are shed last.")
@click.option("--mode", help="`approximate`, `exact` or `subset`.")
@click.option("--max-error", help="Mode `approximate` only: such as `2 %`; `none`: no goal.")
@click.option("--max-gap", help="Mode `subset` only: windows, or a time such as `10 minutes`; `none`: one window.")
@click.option("--gaps-by", help="Mode `subset` only: `window` or `group`.")
@click.option("--latency", help="From a row to its answer, such as `5 seconds`; `none`: the run's.")
@_asking
def change(*, checkpoint: str, query: str, timeout: int, explain: bool, **goals: Any) -> None:
    """Give QUERY other goals. Its windows go on. Goals that are not given stay."""
    from streamshed.network.document.edited_document import with_goals

    given = {name: _goal(value) for name, value in goals.items() if value is not None}
    if not given:
        raise click.UsageError("no goal was given: see streamshed ctl change --help")
    _ask(checkpoint, lambda running: with_goals(running, query, given), timeout, explain=explain)


@ctl.command()
@_CHECKPOINT
@click.argument("file", type=click.Path(path_type=Path))
@_asking
def apply(*, checkpoint: str, file: Path, timeout: int, explain: bool) -> None:
    """Replace the running document by FILE: its queries come, others go. Its `run` is ignored."""
    from streamshed.network.document.document import document_in_yaml

    text = document_in_yaml(file)
    _ask(checkpoint, lambda _running: text, timeout, explain=explain)


def _goal(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    return None if value == "none" else int(value) if value.isdigit() else value


def _box(checkpoint: str) -> Any:
    from streamshed.cli.ctl.request_box import RequestBox

    return RequestBox(checkpoint)


def _ask(checkpoint: str, edit: Callable[[str], str], timeout: int, *, explain: bool) -> None:
    reply = _box(checkpoint).ask(edit, timeout_seconds=timeout / 1e6, explain=explain)
    if reply.explanation is not None:
        click.echo(reply.explanation)
        return
    for name, first_window in reply.first_windows.items():
        since = "all its windows are whole" if first_window is None else f"its first whole window begins {first_window}"
        click.echo(f"{name}: {since}")
    click.echo(f"done, with a pause of {reply.pause_seconds:.1f} s")
