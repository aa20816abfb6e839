"""What a checkpoint says of the network that runs, for those who only look: as a graph, and as a document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streamshed.errors import InvalidNetworkError
from streamshed.network.document.document_writer import document_value
from streamshed.network.document.yaml_text import write_yaml
from streamshed.network.model.network import QueryNetwork
from streamshed.network.run.run_settings import RunSettings
from streamshed.network.run.settings import Settings
from streamshed.network.words.passwords import is_secret
from streamshed.spark.checkpoint.storage import NETWORK_FILE, Storage

DOCUMENT_FILE = "network.yaml"
"""The file of a checkpoint with the network and the settings of its run, as a document; options of brokers, and others
with the name of a secret, are left out, for passwords are among them."""


def describe(checkpoint: Storage, network: QueryNetwork, settings: Settings) -> None:
    """Write down what runs, and how.

    A network that no document can say is described as a graph alone.

    Args:
        checkpoint: The folder of all clocks.
        network: What runs.
        settings: How it runs.
    """
    checkpoint.write_text(NETWORK_FILE, network.render("json"))
    try:
        document = document_value(network, RunSettings(**settings.common()))
    except InvalidNetworkError:
        if DOCUMENT_FILE in checkpoint.names():
            checkpoint.delete(DOCUMENT_FILE)
        return
    for source in (stream["source"] for stream in document["streams"].values()):
        if "kafka" in source:
            source.pop("options", None)
    checkpoint.write_text(DOCUMENT_FILE, write_yaml(_without_secrets(document)))


def _without_secrets(value: Any) -> Any:
    """Return a part of a document without options that have the name of a secret."""
    if isinstance(value, list):
        return [_without_secrets(element) for element in value]
    if not isinstance(value, Mapping):
        return value
    body = {key: _without_secrets(element) for key, element in value.items()}
    if isinstance(options := body.get("options"), Mapping):
        body["options"] = {name: option for name, option in options.items() if not is_secret(name)}
    return body
