"""`streamshed schema`: what a network document may say, for editors and other tools."""

from __future__ import annotations

import click


@click.command(short_help="Print the JSON Schema of network documents.")
def schema() -> None:
    """Print the JSON Schema of network documents in YAML, for editors and other tools."""
    from streamshed.network.document.document_schema import schema_text

    click.echo(schema_text(), nl=False)
