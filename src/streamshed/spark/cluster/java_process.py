"""Starting Java for a command line: its own chatter is kept off the terminal.

Rests on Spark's internals: tests/spark/contracts/test_expression_checker.py and tests/spark/test_command_line.py.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.java_gateway import launch_gateway

from streamshed.errors import JavaUnavailableError
from streamshed.network.words.passwords import is_secret
from streamshed.spark.cluster.session import START_SETTINGS, require_java


def launch_java(settings: SparkConf | None = None) -> Any:
    """Launch a Java process with Spark's classes, its standard error discarded.

    Args:
        settings: What a Java process can be given only at its start, such as its memory.

    Returns:
        The gateway to it.

    Raises:
        JavaUnavailableError: There is no Java, it is too old, or it does not start.
    """
    require_java()
    launch: Callable[..., Any] = launch_gateway
    try:
        return launch(settings, popen_kwargs={"stderr": subprocess.DEVNULL})
    except (PySparkRuntimeError, OSError) as error:
        raise JavaUnavailableError(f"Java cannot be started: {error}{_hint(settings)}") from error


def _hint(settings: SparkConf | None) -> str:
    """Java also ends at its start where connectors cannot be fetched, and says so to nobody."""
    packages = None if settings is None else settings.get("spark.jars.packages", "")
    return f"; could {packages} not be fetched? --jars names jars that are here" if packages else ""


def start_quietly(*, memory: str, options: Mapping[str, str] = MappingProxyType({})) -> None:
    """Start the Java process that the next session of this process will use; one that runs already stays.

    Whatever a query raises reaches Python anyway; what Java and Spark write beside that only helps who looks
    for an error in Spark.

    Args:
        memory: Of the driver, such as "4g".
        options: More settings of Spark.

    Raises:
        JavaUnavailableError: As `launch_java`.
    """
    context: Any = SparkContext
    if context._gateway is None:  # noqa: SLF001 - a session takes the gateway that is set here
        wanted = {**START_SETTINGS, "spark.driver.memory": memory, **options}
        # All who use this machine see the command line; the session hands secrets over later.
        shown = [(name, value) for name, value in wanted.items() if not is_secret(name)]
        settings = SparkConf(loadDefaults=False).setAll(shown)
        context._ensure_initialized(gateway=launch_java(settings))  # noqa: SLF001 - the same
