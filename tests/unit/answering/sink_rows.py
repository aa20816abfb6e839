"""Rows of the answer schema as a run writes them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa

from streamshed.answering.table.answer_schema import arrow_schema

EPOCH = datetime(2025, 1, 1, tzinfo=UTC)
WINDOW_SECONDS = 10


def row(kind: str, query: str, number: int, **told: Any) -> dict[str, Any]:
    """A row of a tumbling window of ten seconds."""
    start = EPOCH + timedelta(seconds=WINDOW_SECONDS * number)
    window = {"window_start": start, "window_end": start + timedelta(seconds=WINDOW_SECONDS)}
    return {"kind": kind, "query": query, "key": None if kind == "gap" else [], **window, **told}


def table(rows: Iterable[Mapping[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist([dict(one) for one in rows], schema=arrow_schema())
