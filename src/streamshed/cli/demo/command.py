"""`streamshed demo`: the command."""

from pathlib import Path

import click

from streamshed.cli.terminal.exit_code import ExitCode


@click.command(short_help="Watch a network of queries survive a burst.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("out/demo"),
    show_default=True,
    help="Folder for pictures and figures.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Equal seeds, equal packets.")
@click.option("--cores", type=click.IntRange(min=1), default=2, show_default=True, help="Threads of Spark.")
@click.option("--memory", default="4g", show_default=True, help="Memory of Spark.")
@click.option("--json", "as_json", is_flag=True, help="Print what was measured as one JSON object.")
def demo(*, out: Path, seed: int, cores: int, memory: str, as_json: bool) -> ExitCode:
    """Watch nine queries over generated packets survive a burst.

    It measures what this machine sustains, runs at 1×, 5× and 1× load, and compares every answer with plain Spark's.
    It takes at most four minutes on two cores; slower machines get a shorter load.
    """
    from streamshed.cli.demo.performance import DemoRequest, perform

    return perform(DemoRequest(out=out, seed=seed, cores=cores, memory=memory, as_json=as_json))
