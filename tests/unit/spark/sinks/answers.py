"""Answers that sinks are given."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa

from streamshed.answering.table.answer_schema import arrow_schema

START = datetime(2026, 1, 1, 0, 0, 0, 123456, tzinfo=UTC)
ANSWER = {
    "kind": "answer",
    "query": "q",
    "window_start": START,
    "window_end": START + timedelta(seconds=10),
    "key": ["a", None],
    "aggregate": "n",
    "value": 3.0,
    "value_text": "3",
    "exact": True,
}


def answers(*changes: dict[str, Any]) -> pa.Table:
    """Rows of the answer schema: `ANSWER`, each with changes of its own."""
    return pa.Table.from_pylist([ANSWER | change for change in changes], arrow_schema())
