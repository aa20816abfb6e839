"""Input files that Spark's file source reads one per micro-batch, in the order in which they were written."""

from __future__ import annotations

import itertools
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet

EPOCH = datetime(2024, 1, 1, tzinfo=UTC)
EPOCH_MICROSECONDS = int(EPOCH.timestamp()) * 1_000_000

_age = itertools.count(1_000_000_000)


def at(seconds: float) -> datetime:
    """An event time, counted from the start of all tests' time."""
    return EPOCH + timedelta(seconds=seconds)


def seconds_of(instant: datetime) -> float:
    """The inverse of `at`."""
    return (instant - EPOCH).total_seconds()


def write_parquet(path: Path, table: pa.Table) -> None:
    """Let a Parquet file appear at once, newer than all before it."""
    draft = _draft(path)
    parquet.write_table(table, draft)
    _publish(draft, path)


def write_lines(path: Path, lines: list[str]) -> None:
    """Let a file of text appear at once, newer than all before it."""
    draft = _draft(path)
    draft.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    _publish(draft, path)


def timed_values(seconds: list[float], values: list[int]) -> pa.Table:
    """A table of event times `ts` and integers `v`."""
    return pa.table(
        {
            "ts": pa.array([at(second) for second in seconds], pa.timestamp("us", "UTC")),
            "v": pa.array(values, pa.int64()),
        }
    )


def _draft(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.with_name(f".{path.name}")


def _publish(draft: Path, path: Path) -> None:
    age = next(_age)
    os.utime(draft, (age, age))
    draft.rename(path)
