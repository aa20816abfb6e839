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


@click.group(short_help="Show, verify or repartition a checkpoint.")
def checkpoint() -> None:
    """Show, verify or repartition a checkpoint. CHECKPOINT is the folder or URI that the run was given."""


@checkpoint.command()
@_CHECKPOINT
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object: `checkpoint` and `clocks`.")
def show(*, checkpoint: str, as_json: bool) -> None:
    """Show what CHECKPOINT holds. It changes nothing and needs neither Spark nor Java.

    For each clock: streams, releases that wrote it, micro-batches begun and finished, watermark, state by stage, number
    and size of files by kind.
    """
    from streamshed.cli.checkpoint.contents_lines import contents_lines
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
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print one JSON object: `checkpoint`, `whole`, `clocks` and `flaws` (each `place`, `says`, `is_harmless`).",
)
def verify(*, checkpoint: str, as_json: bool) -> ExitCode:
    """Check that a run can go on from CHECKPOINT. It changes nothing and needs neither Spark nor Java.

    Stop the run before, because files that come and go look damaged. Checked are checksums, the manifest, plans,
    journal, Spark's offsets and commits, and the state that the next micro-batch reads. Each flaw is a line with the
    file. Exit code 0: whole, perhaps with harmless flaws; 1: damaged.
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


@checkpoint.command()
@_CHECKPOINT
@click.option("--partitions", type=click.IntRange(min=1), required=True, help="New number per stage.")
@click.option("--cores", type=click.IntRange(min=1), help="Threads of Spark.  [default: one per core]")
@click.option("--memory", default="4g", show_default=True, help="Memory of Spark.")
def repartition(*, checkpoint: str, partitions: int, cores: int | None, memory: str) -> None:
    """Give the state in CHECKPOINT another number of partitions. The next run goes on with it.

    Stop the run before. Open windows go on. If the command is interrupted, repeat it.
    """
    from streamshed.cli.spark_session import session
    from streamshed.spark import repartition as repartitioning
    from streamshed.spark.checkpoint.hold import CheckpointHold
    from streamshed.spark.inspection.repartitionable import repartitionable

    repartitioning.require_tool()
    folder = _reached(checkpoint)
    repartitionable(folder, partitions)
    with CheckpointHold(folder, alone=True):
        changing = repartitionable(folder, partitions)
        if changing:
            with session("streamshed checkpoint repartition", cores=cores, memory=memory) as spark:
                repartitioning.repartition(spark, checkpoint, changing, partitions)
    for clock in changing:
        click.echo(f"{checkpoint}/{clock.clock}: {clock.manifest.partitions} partitions became {partitions}")
    if not changing:
        click.echo(f"{checkpoint}: has {partitions} partitions already")


def _reached(checkpoint: str) -> Storage:
    import pyarrow as pa

    from streamshed.errors import SourceUnavailableError
    from streamshed.spark.checkpoint.storage import Storage

    try:
        return Storage.reached(checkpoint)
    except (OSError, pa.ArrowException) as error:
        raise SourceUnavailableError(f'cannot read the checkpoint "{checkpoint}": {error}') from error
