"""What is done with a network: these functions are the methods of `QueryNetwork` that need more than the network.

Each imports what it needs when it is called: who only describes a network needs no engine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from streamshed.network.model.network import QueryNetwork

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from streamshed.dashboard.explained_network import ExplainedNetwork
    from streamshed.spark import Run


def start(network: QueryNetwork, *arguments: Any, **settings: Any) -> Run:
    """Run on Spark until stopped; takes and returns what `streamshed.spark.start` does."""
    from streamshed.spark import start as start_on_spark

    return start_on_spark(network, *arguments, **settings)


def answers(network: QueryNetwork, *arguments: Any, **settings: Any) -> DataFrame:
    """Answer bounded input exactly; takes and returns what `streamshed.spark.answers` does."""
    from streamshed.spark import answers as answers_of_spark

    return answers_of_spark(network, *arguments, **settings)


def explain(network: QueryNetwork, load: float = 3.0, **settings: Any) -> ExplainedNetwork:
    """Tell what would be shed at a load, without Spark; see `streamshed.dashboard.explained_network`."""
    from streamshed.dashboard.explained_network import explain_network

    return explain_network(network, load, **settings)


def to_sql(network: QueryNetwork) -> str:
    """Write it as SQL statements that read as an equal one; see `streamshed.sql`.

    Raises:
        InvalidNetworkError: Listing what SQL cannot say: DataFrames, and functions without a name.
    """
    from streamshed.network.document.document_writer import network_to_sql

    return network_to_sql(network)


def render(network: QueryNetwork, form: str = "text") -> str:
    """Draw it as "text", "mermaid", "dot" or "json"; see `streamshed.network.model.render`."""
    from streamshed.network.model.render import rendered

    return rendered(network, form)


QueryNetwork.start = start
QueryNetwork.answers = answers
QueryNetwork.explain = explain
QueryNetwork.to_sql = to_sql
QueryNetwork.render = render
