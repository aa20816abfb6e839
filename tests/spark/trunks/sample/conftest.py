from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from tests.spark.trunks.drawn_rows import DrawnRows, drawn_rows
from tests.spark.trunks.outcome import Outcome


@pytest.fixture(scope="module")
def rows(outcome: Outcome, spark: SparkSession) -> DrawnRows:
    """Those that all scenarios share; a scenario with rows of its own has another fixture."""
    return drawn_rows(outcome, spark, "events", ["id"])
