"""Runs the oracle once for all scenarios."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pyspark.sql import SparkSession

from tests.spark.trunks.random.native_run import NativeAnswers, answered_natively
from tests.spark.trunks.trunk import Cast


@pytest.fixture(scope="package")
def native(
    casts: Callable[[str], Cast], spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> NativeAnswers:
    """What plain Spark answers over the rows that each micro-batch of the trunk has read."""
    return answered_natively(casts(__package__), spark, tmp_path_factory.mktemp("native"))
