"""Connectors that a command's session needs, and where they come from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from streamshed.network.run.run_settings import CONSOLE
from streamshed.network.source.delta_source import DeltaSource
from streamshed.network.source.kafka_source import KafkaSource
from streamshed.network.source.sources import FileFormat, FolderSource

if TYPE_CHECKING:
    from streamshed.network.model.network import QueryNetwork

jars_option = click.option(
    "--jars",
    help="Jars of connectors, separated by commas.  [default: fetched if needed]",
)


def connector_options(network: QueryNetwork, jars: str | None, *, sink: str = CONSOLE) -> dict[str, str]:
    """Return the settings that bring a session its connectors.

    Args:
        network: What is to run.
        jars: Those that the user names; None: they are fetched where they are needed.
        sink: The kind of the sink.

    Raises:
        SourceUnavailableError: No build of a connector that is to be fetched runs on this release of Spark.
    """
    sources: list[object] = [stream.source for stream in network.all_streams]
    sources += [relation.source for relation in network.relations]
    names = {sink, *(name for source in sources if (name := _connector(source)) is not None)}
    if jars is None and names == {CONSOLE}:
        return {}
    from streamshed.spark.common.connector import AVRO, DELTA, KAFKA, connector_settings

    needed = [connector for connector in (KAFKA, DELTA, AVRO) if connector.name in names]
    for connector in needed:
        if jars is None and not connector.fits():
            raise connector.missing("the document")
    named = {} if jars is None else {"spark.jars": jars}
    return named | connector_settings(needed, are_there=jars is not None)


def _connector(source: object) -> str | None:
    """The name of the connector that a source needs; None: it needs none."""
    match source:
        case KafkaSource():
            return "kafka"
        case DeltaSource():
            return "delta"
        case FolderSource(format=FileFormat.AVRO):
            return "avro"
        case _:
            return None
