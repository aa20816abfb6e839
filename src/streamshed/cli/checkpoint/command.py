"""`streamshed checkpoint`: the commands."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from streamshed.cli.terminal.exit_code import ExitCode

if TYPE_CHECKING:
    from streamshed.spark.checkpoint.storage import Storage

_CHECKPOINT = click.argument("checkpoint")
_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")


@click.group(short_help="Say what a checkpoint holds, and whether it is whole.")
def checkpoint() -> None:
    """Say what a checkpoint holds, and whether it is whole.

    CHECKPOINT is the folder that the run was given, or its URI. It is read, never changed; Spark is not started.
    """


@checkpoint.command()
@_CHECKPOINT
@_JSON
def show(*, checkpoint: str, as_json: bool) -> None:
    """Say what CHECKPOINT holds: clocks, micro-batches, state, files, versions."""
    from streamshed.cli.checkpoint.wording import contents_lines
    from streamshed.spark.inspection.contents import clocks_of, contents_of

    folder = _reached(checkpoint)
    contents = [contents_of(folder, clock) for clock in clocks_of(folder)]
    if as_json:
        report = {"checkpoint": checkpoint, "clocks": [clock.to_json() for clock in contents]}
        click.echo(json.dumps(report, indent=2))
        return
    for clock in contents:
        for line in contents_lines(clock):
            click.echo(line)


@checkpoint.command()
@_CHECKPOINT
@_JSON
def verify(*, checkpoint: str, as_json: bool) -> ExitCode:
    """Check that a run can go on from CHECKPOINT: its files are whole, and fit together.

    It reads all files. A run that goes on meanwhile looks damaged: stop it first.
    """
    from streamshed.spark.inspection.checks import flaws
    from streamshed.spark.inspection.contents import clocks_of

    folder = _reached(checkpoint)
    by_clock = {clock: flaws(folder, clock) for clock in clocks_of(folder)}
    all_flaws = [flaw for of_clock in by_clock.values() for flaw in of_clock]
    is_whole = all(flaw.is_harmless for flaw in all_flaws)
    if as_json:
        report = {
            "checkpoint": checkpoint,
            "whole": is_whole,
            "clocks": list(by_clock),
            "flaws": [asdict(flaw) for flaw in all_flaws],
        }
        click.echo(json.dumps(report, indent=2))
    else:
        for flaw in all_flaws:
            click.echo(f"{checkpoint}/{flaw.place}: {'harmless: ' if flaw.is_harmless else ''}{flaw.says}")
        click.echo(f"{checkpoint}: {'whole' if is_whole else 'damaged'}: {', '.join(by_clock)}")
    return ExitCode.DONE if is_whole else ExitCode.REFUSED


def _reached(checkpoint: str) -> Storage:
    import pyarrow as pa

    from streamshed.errors import SourceUnavailableError
    from streamshed.spark.checkpoint.storage import Storage

    try:
        return Storage.reached(checkpoint)
    except (OSError, pa.ArrowException) as error:
        raise SourceUnavailableError(f'cannot read the checkpoint "{checkpoint}": {error}') from error
