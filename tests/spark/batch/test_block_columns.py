"""Lists of sums of blocks: what Spark makes of rows and slices is what NumPy does."""

from __future__ import annotations

import numpy as np
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from streamshed.network.terms.block_sums import BLOCK_FIELDS, BLOCK_NUMBERS
from streamshed.network.terms.join_shedding import COHORTS
from streamshed.spark.windows.block_columns import block_sums_of_row, block_sums_of_window, vector_sum

ROWS = [(3, True, 2.0), (3, True, -4.5), (15, True, None), (0, None, None), (None, True, 7.0)]
"""Cohort, whether the row counts, and its value."""


def _lists(*brought: tuple[int, tuple[float, ...]]) -> list[float]:
    by_cohort = np.zeros((COHORTS, len(BLOCK_FIELDS)))
    for cohort, numbers in brought:
        by_cohort[cohort] = numbers
    return [*by_cohort.ravel().tolist()]


def test_lists_of_rows_add_up(spark: SparkSession) -> None:
    rows = spark.createDataFrame(ROWS, "cohort int, counted boolean, number double").repartition(2)
    row = rows.agg(vector_sum(block_sums_of_row()).alias("sums")).first()
    assert row is not None
    assert row.sums == _lists((3, (2, 2, -2.5, 24.25)), (15, (1, 0, 0, 0)))


def test_rows_of_files_that_are_all_read_have_no_list(spark: SparkSession) -> None:
    rows = spark.createDataFrame(ROWS[-1:], "cohort int, counted boolean, number double")
    row = rows.agg(vector_sum(block_sums_of_row()).alias("sums")).first()
    assert row is not None
    assert row.sums is None


@pytest.mark.parametrize("sampling_rate", [0.5, 0.1])
def test_a_window_has_lists_as_of_its_rate(spark: SparkSession, sampling_rate: float) -> None:
    numbers = np.random.default_rng(3).normal(size=BLOCK_NUMBERS)
    slices = spark.createDataFrame([(numbers.tolist(), 1 / sampling_rate)], "block_sums array<float>, weight double")
    row = slices.select(block_sums_of_window().alias("sums"), F.size("block_sums")).first()
    assert row is not None
    excess = (1 - sampling_rate) / sampling_rate**2
    rows, present, _, squares = numbers.reshape(COHORTS, -1).sum(axis=0) * excess
    assert row.sums == pytest.approx([*(numbers * np.sqrt(excess)), rows, present, squares], rel=1e-5)
