"""The Spark session of tests, in the session's own process and in programs that tests start."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from py4j.java_gateway import JavaClass, JavaMember, JavaPackage, JVMView
from pyspark.sql import SparkSession

from streamshed.spark.cluster.session import LOCAL_SETTINGS, START_SETTINGS
from streamshed.spark.loop.interpreting import INTERPRETED

_ROOT = Path(__file__).parents[2]
QUICK_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=512m -XX:MetaspaceSize=700m"
"""Tests have few rows and much code: what Java would spend on making it faster, they would not get back.

With its first compiler alone, Java keeps 48 MB of code: once that is full, it interprets, and sweeps for ever. Room for
classes spares it collections, as room for new objects does. tests/README.md has the measurements.
"""
_ON_CLUSTER = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.executor.cores": "1",
    "spark.executor.memory": "512m",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    # Executors run the sources beside these tests, whichever are installed.
    "spark.executorEnv.PYTHONPATH": os.pathsep.join([str(_ROOT / "src"), str(_ROOT)]),
    "spark.locality.wait": "0s",
    # A test begins when both have come: else what it measures is theirs to come.
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    "spark.cores.max": "2",
}


def session_for_tests(master: str = "local[2]", options: Mapping[str, str] | None = None) -> SparkSession:
    """Start Spark.

    Args:
        master: Where tasks run: "local[2]", or the address of a standalone cluster.
        options: More settings.
    """
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    os.environ["PYSPARK_PYTHON"] = sys.executable
    remember_java_names()
    settings = {
        "spark.driver.memory": "3g",
        "spark.driver.extraJavaOptions": f"{QUICK_JAVA} -Xmn1200m -Xms2500m",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
        **START_SETTINGS,
        **(LOCAL_SETTINGS if master.startswith("local") else _ON_CLUSTER),
        **(options or {}),
    }
    builder = SparkSession.builder.master(master).appName("streamshed tests")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session: SparkSession = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


@cache
def remember_java_names() -> None:
    """Let this process ask Java only once for each package, class and static method.

    PySpark asks anew for each column. For a name that is no class, Java looks into all archives of Spark each time.
    """
    for kind in (JVMView, JavaPackage, JavaClass):
        kind.__getattr__ = _remembering(kind.__getattr__)


def _remembering(ask: Callable[[Any, str], Any]) -> Callable[[Any, str], Any]:
    def remembered(asked: Any, name: str) -> Any:
        answer = ask(asked, name)
        if isinstance(answer, JavaPackage | JavaClass | JavaMember):
            vars(asked)[name] = answer
        return answer

    return remembered


NOT_FUSED: Mapping[str, str] = {"spark.sql.codegen.wholeStage": "false"}
"""Settings with code of expressions, but not of whole stages: for some ten thousand rows."""


def interpreting(spark: SparkSession) -> SparkSession:
    """A session beside another one that generates no code."""
    session = spark.newSession()
    for name, value in INTERPRETED.items():
        session.conf.set(name, value)
    return session
