"""What rows draw where a join is sampled, and what follows from it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from streamshed.planning.tree.quantization import code_of, sampling_rate_of
from tests.spark.trunks.joins.pairs import micro_batches
from tests.spark.trunks.outcome import Outcome


def levels(spark: SparkSession, salt: str, count: int) -> npt.NDArray[np.float64]:
    """The code of the smallest rate that each row passes, by its number, which is what it is known by."""
    u = F.shiftrightunsigned(F.xxhash64(F.lit(salt), "id"), 11) * F.lit(2.0**-53)
    drawn = spark.range(count).select(u.alias("u")).toPandas().u
    return np.asarray(np.floor(-32 * np.log10(np.asarray(drawn, np.float64))))


def with_rates(
    outcome: Outcome, pairs: pd.DataFrame, join: str, drawn: str, sides: tuple[str, str] = ("calls", "alerts")
) -> pd.DataFrame:
    """Add the rate at which each pair was there.

    Args:
        outcome: What came of the trunk.
        pairs: All pairs.
        join: The name of the join.
        drawn: The side of which rows were drawn, "left" or "right".
        sides: The inputs.
    """
    by_micro_batch = rates(outcome, join, sides)
    of_row, found = pairs[f"{drawn}_read"].map(by_micro_batch), pairs["read"].map(by_micro_batch)
    return pairs.assign(rate=np.minimum(of_row, found))


def rates(outcome: Outcome, join: str, sides: tuple[str, str] = ("calls", "alerts")) -> dict[int, float]:
    """By micro-batch, the rate in force."""
    rates: dict[int, float] = {}
    for stream in sides:
        readers, counted = micro_batches(outcome, stream), outcome.sheds(stream) or outcome.sheds("calls")
        for step, shed in zip(sorted(readers), counted, strict=True):
            rates[readers[step]] = sampling_rate_of(code_of(shed.work_shares[join]))
    return rates


def variances(pairs: pd.DataFrame, brought: pd.Series, by: npt.NDArray[np.int64]) -> pd.Series:
    """The true variance of Σ brought/P in each group: rows come or not, with all of their pairs that pass."""
    sums = brought.groupby([by, pairs.left_id, pairs.rate]).sum()
    sums.index.names = ["group", "row", "rate"]
    of_row = sums.reset_index(name="t")
    both = of_row.merge(of_row, on=["group", "row"])
    largest = np.maximum(both.rate_x, both.rate_y)
    return (both.t_x * both.t_y * (1 / largest - 1)).groupby(both.group).sum()
