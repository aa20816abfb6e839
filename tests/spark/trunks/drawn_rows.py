"""Which rows samplers keep, by what plain Spark hashes them to: killed and restarted or not, it is these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import pandas as pd
import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from streamshed.planning.tree.quantization import STEPS_PER_DECADE, WHOLE
from tests.spark.event_times import EPOCH_MICROSECONDS, seconds_of
from tests.spark.harness import Found
from tests.spark.trunks.inputs import STEP
from tests.spark.trunks.outcome import Outcome
from tests.spark.trunks.scenario import Shed

FILE_ROW = ("input_file_name()", "_metadata.row_index")
"""What tells rows of Parquet files apart that have no other identity, as SQL."""


@dataclass(frozen=True)
class DrawnRows:
    """Rows of a stream, in order of time.

    Attributes:
        columns: By name, and `NAME_is_null`.
        seconds: Event times.
        levels: The code of the smallest rate at which each row is kept.
        sheds: By step, what was shed.
        files: The file of each row, as a URI, and its number in it.
    """

    columns: Mapping[str, np.ndarray]
    seconds: np.ndarray
    levels: np.ndarray
    sheds: Sequence[Shed]
    files: np.ndarray

    def __getitem__(self, column: str) -> np.ndarray:
        return self.columns[column]

    def __len__(self) -> int:
        return len(self.levels)

    def those(self, chosen: np.ndarray | slice) -> DrawnRows:
        """Choose some of the rows."""
        return replace(
            self,
            columns={name: values[chosen] for name, values in self.columns.items()},
            seconds=self.seconds[chosen],
            levels=self.levels[chosen],
            files=self.files[chosen],
        )

    def inside(self, row: Found) -> DrawnRows:
        """The rows of a window that was answered."""
        assert row.window_end is not None
        return self.between(seconds_of(row.window_start), seconds_of(row.window_end))

    def between(self, start: float, end: float) -> DrawnRows:
        """The rows from one second until another."""
        first, after = np.searchsorted(self.seconds, (start, end))
        return self.those(slice(first, after))

    def codes(self, query: str) -> np.ndarray:
        """The code of the rate at which a query is sampled, by row."""
        of_steps = np.array([shed.codes.get(query, WHOLE) for shed in self.sheds])
        codes: np.ndarray = of_steps[self.columns[STEP].astype(np.int64)]
        return codes

    def rates(self, query: str) -> np.ndarray:
        """The rate, by row."""
        rates: np.ndarray = 10.0 ** (-self.codes(query) / STEPS_PER_DECADE)
        return rates

    def kept(self, query: str) -> DrawnRows:
        """The rows that are in the sample of a query."""
        return self.those(self.levels >= self.codes(query))


def drawn_rows(outcome: Outcome, spark: SparkSession, stream: str, identity: Sequence[str]) -> DrawnRows:
    """Hash the rows of a stream.

    Args:
        outcome: What came of them.
        spark: Hashes them.
        stream: The name of the stream, which is the salt.
        identity: What is hashed, as SQL.
    """
    drawn = drawn_numbers(spark, str(outcome.cast.path / "in" / stream), stream, tuple(identity))
    return rows_with_numbers(outcome.table(stream), drawn, outcome.sheds(stream))


def rows_with_numbers(rows: pa.Table, drawn: pd.DataFrame, sheds: Sequence[Shed]) -> DrawnRows:
    """Put rows and their numbers together.

    Args:
        rows: Of a stream, in the order of its files, with the column `step`.
        drawn: What `drawn_numbers` returned of these files.
        sheds: By step, what was shed.
    """
    microseconds = np.asarray(rows["ts"].cast("int64").to_pandas(), np.float64)
    columns = {name: np.asarray(rows[name].to_pandas()) for name in rows.column_names if name != "ts"}
    is_null = {f"{name}_is_null": np.asarray(rows[name].is_null()) for name in columns}
    return DrawnRows(
        columns=columns | is_null,
        seconds=(microseconds - EPOCH_MICROSECONDS) / 1e6,
        levels=np.floor(-STEPS_PER_DECADE * np.log10(drawn.u.to_numpy())),
        sheds=sheds,
        files=(drawn.path + "#" + drawn.number.astype(str)).to_numpy(),
    )


@lru_cache
def drawn_numbers(spark: SparkSession, folder: str, salt: str, identity: tuple[str, ...]) -> pd.DataFrame:
    """The number in [0, 1) that each row of some files has, in the order of the files.

    Args:
        spark: Hashes them.
        folder: Where the files are.
        salt: The name of the stream.
        identity: What is hashed, as SQL.
    """
    u = F.shiftrightunsigned(F.xxhash64(F.lit(salt), *map(F.expr, identity)), 11) * F.lit(2.0**-53)
    path, number = map(F.expr, FILE_ROW)
    rows = spark.read.parquet(folder).select(path.alias("path"), number.alias("number"), u.alias("u"))
    return rows.toPandas().sort_values(["path", "number"])
