"""The settings of Hadoop, sent to tasks without what set each.

Rests on Spark's internals: tests/spark/contracts/test_setting_sources.py.
"""

from __future__ import annotations

from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

_SOURCES = "updatingResource"
"""Where Hadoop notes it: a map by name of the setting, to which it has no public way."""


def forget_setting_sources(session: SparkSession) -> None:
    """Let Hadoop forget which file or program set each of its settings; their values stay.

    Spark sends all of more than a thousand settings with each access to state or to files: five times in a micro-batch
    of two windowed queries. Hadoop sends with each setting what set it, compressed by itself: most of the time that
    this takes. A setting that is made later has its source again, and all have if Hadoop reads its files anew.

    Args:
        session: The session.
    """
    settings: Any = session.sparkContext._jsc.hadoopConfiguration()  # noqa: SLF001 - PySpark has no public way
    try:
        field = settings.getClass().getDeclaredField(_SOURCES)
        field.setAccessible(True)
        sources = field.get(settings)
    except Py4JJavaError:  # another Hadoop, or a Java that forbids it: sending takes longer
        return
    if sources is not None:
        sources.clear()
