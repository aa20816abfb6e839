"""`streamshed demo`."""

import click


@click.command(short_help="demo")
def demo() -> None:
    """Demo."""
