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
    help="How long the run may take to answer; then the request is withdrawn.",
)
_EXPLAIN = click.option("--explain", is_flag=True, help="Only say what it would cost, and whose answers would pay.")


def _asking(command: Callable[..., None]) -> Callable[..., None]:
    """The options of all commands that ask a run for something."""
    return _EXPLAIN(_TIMEOUT(command))


@click.group(short_help="Look at the queries of a network that runs, and change them.")
def ctl() -> None:
    """Look at the queries of a `streamshed run`, and change them while it runs.

    CHECKPOINT is that of the run. Who may write there may change its queries.
    """


@ctl.command("list")
@_CHECKPOINT
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def list_queries(*, checkpoint: str, as_json: bool) -> None:
    """List the queries that run, and their goals."""
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
    """Print the document that runs."""
    click.echo(_box(checkpoint).running(), nl=False)


@ctl.command()
@_CHECKPOINT
@_TIMEOUT
def explain(*, checkpoint: str, timeout: int) -> None:
    """Say what the queries that run take at the load that they have, and what their answers are worth."""
    _ask(checkpoint, lambda running: running, timeout, explain=True)


@ctl.command()
@_CHECKPOINT
@click.argument("file", type=click.Path(path_type=Path))
@_asking
def add(*, checkpoint: str, file: Path, timeout: int, explain: bool) -> None:
    """Add the queries of FILE, with the operators and relations that they bring.

    FILE has the sections `queries`, `operators` and `relations` of a document, or SQL statements (`.sql`). Relative
    paths in it begin at the folder of the document that runs.
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
    """Remove QUERY; its open windows are not answered."""
    from streamshed.network.document.edited_document import without_query

    _ask(checkpoint, lambda running: without_query(running, query), timeout, explain=explain)


_GOALS = ("weight", "priority", "mode", "max_error", "max_gap", "gaps_by", "latency")


@ctl.command()
@_CHECKPOINT
@click.argument("query")
@click.option("--weight", type=float, help="How much its error counts.")
@click.option("--priority", type=int, help="Queries of higher priority are shed last.")
@click.option("--mode", help="`approximate`, `exact` or `subset`.")
@click.option("--max-error", help="Such as `2 %`; `none`: as little as the load allows.")
@click.option("--max-gap", help="Windows, or a time such as `10 minutes`; `none`: one window.")
@click.option("--gaps-by", help="`window` or `group`.")
@click.option("--latency", help="From a row to its answer, such as `5 seconds`; `none`: that of the run.")
@_asking
def change(*, checkpoint: str, query: str, timeout: int, explain: bool, **goals: Any) -> None:
    """Give QUERY other goals, as a document has them; its windows go on. What is not given stays as it is."""
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
    """Go on with the whole document FILE: its queries come, others go. What it says under `run` is not heeded."""
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
