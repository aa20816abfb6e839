"""Input files that Spark's file source reads one per micro-batch, in the order in which they were written."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet

from tests.spark.event_times import at

_age = itertools.count(1_000_000_000)


def appear(path: Path, write: Callable[[Path], object]) -> None:
    """Let a file appear at once, newer than all before it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}")
    write(draft)
    age = next(_age)
    os.utime(draft, (age, age))
    draft.rename(path)


def write_parquet(path: Path, table: pa.Table) -> None:
    """Let a Parquet file appear."""
    appear(path, lambda draft: parquet.write_table(table, draft))


def write_lines(path: Path, lines: list[str]) -> None:
    """Let a file of text appear."""
    text = "".join(f"{line}\n" for line in lines)
    appear(path, lambda draft: draft.write_text(text, encoding="utf-8"))


def timed_values(seconds: list[float], values: list[int]) -> pa.Table:
    """A table of event times `ts` and integers `v`."""
    return pa.table(
        {
            "ts": pa.array([at(second) for second in seconds], pa.timestamp("us", "UTC")),
            "v": pa.array(values, pa.int64()),
        }
    )
