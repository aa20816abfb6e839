"""Connectors that a command's session needs, and where they come from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from streamshed.network.model.kafka_source import KafkaSource

if TYPE_CHECKING:
    from streamshed.network.model.network import QueryNetwork

jars_option = click.option(
    "--jars",
    help="Jars of connectors, with commas between them.  [default: Kafka's connector is fetched where it is needed]",
)


def connector_options(network: QueryNetwork, jars: str | None, *, sends: bool = False) -> dict[str, str]:
    """Return the settings that bring a session its connectors.

    Args:
        network: What is to run.
        jars: Those that the user names; None: that of Kafka is fetched where it is needed.
        sends: Whether answers go to a topic.
    """
    if jars is not None:
        return {"spark.jars": jars}
    if not sends and not any(isinstance(stream.source, KafkaSource) for stream in network.all_streams):
        return {}
    from streamshed.spark.common.connector import connector_package

    return {"spark.jars.packages": connector_package()}
