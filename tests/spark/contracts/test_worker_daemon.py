"""Spark forks its Python workers from a process of ours, which has imported what they need."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
from pyspark.sql import SparkSession

from streamshed.spark.cluster.session import LOCAL_SETTINGS

DAEMON = LOCAL_SETTINGS["spark.python.daemon.module"]


@pytest.mark.skipif(sys.platform != "linux", reason="another system does not show the commands of processes so")
def test_workers_are_forked_from_it(spark: SparkSession) -> None:
    def commands(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        for _ in frames:
            yield pd.DataFrame({"command": [Path(f"/proc/{os.getppid()}/cmdline").read_text()]})

    shown = spark.range(1).mapInPandas(commands, "command string").collect()
    assert [DAEMON in row.command for row in shown] == [True]
