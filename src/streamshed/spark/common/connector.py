"""Connectors that PySpark does not bring: what they are called, and what to do where one is missing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import pyspark

from streamshed.errors import SourceUnavailableError

_PACKAGES = "spark.jars.packages"


@dataclass(frozen=True)
class Connector:
    """A connector.

    Attributes:
        name: What Spark calls its format.
        title: What people call it.
        artifact: Its coordinates without the version.
        versions: Its version by release of Spark; later releases take the last one.
        settings: What a session needs beside it.
        page: Its page of documentation.
        last_release: The last release of Spark that it runs on; empty: later ones are fine, too.
    """

    name: str
    title: str
    artifact: str
    versions: Mapping[str, str]
    page: str
    settings: Mapping[str, str] = field(default_factory=dict)
    last_release: str = ""

    def fits(self, spark_version: str = pyspark.__version__) -> bool:
        """Whether there is a build of it that runs on a release of Spark.

        Example:
            >>> KAFKA.fits("4.3.0"), DELTA.fits("4.2.1"), DELTA.fits("4.3.0")
            (True, True, False)
        """
        return not self.last_release or _numbers(spark_version) <= _numbers(self.last_release)

    def package(self, spark_version: str = pyspark.__version__) -> str:
        """Return its coordinates for a release of Spark, as `spark.jars.packages` takes them.

        Example:
            >>> KAFKA.package("4.3.0"), DELTA.package("4.2.0")
            ('org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0', 'io.delta:delta-spark_2.13:4.4.0')
        """
        fitting = [release for release in self.versions if _numbers(release) <= _numbers(spark_version)]
        release = max(fitting or self.versions, key=_numbers)
        return f"{self.artifact}:{self.versions[release]}"

    def refused(self, error: Exception, label: str) -> Exception:
        """Return the error that says what to do, if the session lacks it; else the same one.

        Args:
            error: Spark's.
            label: What was to be read or written.
        """
        lacks = ("DATA_SOURCE_NOT_FOUND", f"Failed to find data source: {self.name}")
        return self.missing(label) if any(sign in str(error) for sign in lacks) else error

    def missing(self, label: str) -> SourceUnavailableError:
        """Return the error that says what to do where a session lacks it.

        Args:
            label: What was to be read or written.
        """
        if not self.fits():
            return SourceUnavailableError(
                f"{label}: no build of the connector to {self.title} runs on PySpark {pyspark.__version__}: the last"
                f" release that it runs on is {self.last_release} (see docs/{self.page})"
            )
        options = ", ".join(f'"{key}": "{value}"' for key, value in connector_settings([self]).items())
        return SourceUnavailableError(
            f"{label}: the session has no connector to {self.title}: start it with local_session(options={{{options}}})"
            f", or with the same settings of your own session (see docs/{self.page})"
        )


KAFKA = Connector(
    "kafka", "Kafka", "org.apache.spark:spark-sql-kafka-0-10_2.13", {"4.1": "4.1.0", "4.2": "4.2.0"}, "kafka.md"
)
AVRO = Connector(
    "avro",
    "files of Avro",
    "org.apache.spark:spark-avro_2.13",
    {"4.2": "4.2.0"},
    "document.md",
    last_release="4.2",
)
DELTA = Connector(
    "delta",
    "Delta Lake",
    "io.delta:delta-spark_2.13",
    {"4.2": "4.4.0"},
    "tables.md",
    {
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    },
    last_release="4.2",
)


def connector_settings(connectors: Iterable[Connector], *, are_there: bool = False) -> dict[str, str]:
    """Return the settings of a session that has connectors.

    Args:
        connectors: Those that it needs.
        are_there: Whether their jars are there, and none is fetched.

    Example:
        >>> connector_settings([KAFKA])
        {'spark.jars.packages': 'org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0'}
        >>> connector_settings([])
        {}
    """
    needed = list(connectors)
    fetched = {} if are_there or not needed else {_PACKAGES: ",".join(one.package() for one in needed)}
    return fetched | {key: value for one in needed for key, value in one.settings.items()}


def _numbers(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)[:2]]
