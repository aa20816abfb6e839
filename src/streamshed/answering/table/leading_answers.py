"""The leading answers: of the latest windows of each query, those of the groups with the most rows, to be looked at."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from streamshed.answering.table.answer_schema import ANSWER, GAP, arrow_schema

LEADING_GROUPS = 3
"""So many groups of a window and aggregate lead."""
LATEST_WINDOWS = 10
"""So many windows of a query and aggregate are looked at in a micro-batch."""

COLUMNS = (
    "kind",
    "query",
    "window_start",
    "window_end",
    "window_from",
    "window_until",
    "key",
    "aggregate",
    "value",
    "value_text",
    "lower",
    "upper",
    "confidence",
    "standard_error",
    "rows_estimated",
    "exact",
    "low",
    "reason",
)
"""The columns of answers that are looked at."""

_KEY_JOINT = "\x1f"


def leading_answers(answers: pa.RecordBatch) -> pa.Table:
    """Return the answers of the groups with the most rows, of the latest windows, and gaps in their place.

    It may be asked of parts: what leads among the leading answers of parts leads in the whole.

    Args:
        answers: Rows of the answer schema, of any kind.

    Returns:
        Some of its answers and gaps, in `COLUMNS`: by query and aggregate at most `LATEST_WINDOWS` windows, of each at
        most `LEADING_GROUPS` groups. Groups with equally many rows lead in the order of their keys.
    """
    table = pa.table(answers.select(COLUMNS))
    kinds = table.column("kind")
    looked_at = table.filter(pc.or_(pc.equal(kinds, ANSWER), pc.equal(kinds, GAP)))
    return looked_at.take(np.flatnonzero(_leads(looked_at))) if len(looked_at) > 1 else looked_at


def leading_of(parts: Sequence[pa.Table]) -> pa.Table:
    """Return the leading answers of the whole.

    Args:
        parts: Leading answers of parts.
    """
    if not parts:
        schema = arrow_schema()
        return pa.schema([schema.field(name) for name in COLUMNS]).empty_table()
    if len(parts) == 1:
        return parts[0]
    [whole] = pa.concat_tables(parts).combine_chunks().to_batches() or [None]
    return parts[0] if whole is None else leading_answers(whole)


def _leads(table: pa.Table) -> npt.NDArray[np.bool_]:
    """Which rows lead: numbers of windows and of groups are told from where neighbors in order differ."""
    aggregate_codes = _codes(table.column("query")) * (1 + len(table)) + _codes(table.column("aggregate"))
    until = pc.coalesce(pc.cast(table.column("window_end"), pa.int64()), table.column("window_until"), 0)
    window = -until.to_numpy()
    rows = -pc.coalesce(table.column("rows_estimated"), 0.0).to_numpy()
    keys = pc.coalesce(pc.binary_join(table.column("key"), _KEY_JOINT), "")
    place = pc.rank(keys, tiebreaker="dense").to_numpy().astype(np.int64)
    order = np.lexsort((place, rows, window, aggregate_codes))
    is_aggregate_first = _is_first(aggregate_codes[order])
    is_window_first = is_aggregate_first | _is_first(window[order])
    windows_before = np.cumsum(is_window_first) - 1
    window_number = windows_before - _at_last_start(windows_before, is_aggregate_first)
    positions = np.arange(len(order))
    group_number = positions - _at_last_start(positions, is_window_first)
    leads = np.empty(len(order), np.bool_)
    leads[order] = (window_number < LATEST_WINDOWS) & (group_number < LEADING_GROUPS)
    return leads


def _codes(texts: pa.ChunkedArray) -> npt.NDArray[np.int64]:
    """A number for each text, that of null included."""
    encoded = texts.combine_chunks().dictionary_encode(null_encoding="encode")
    codes: npt.NDArray[np.int64] = encoded.indices.to_numpy().astype(np.int64)
    return codes


def _is_first(sorted_values: npt.NDArray[np.generic]) -> npt.NDArray[np.bool_]:
    return np.concatenate(([True], sorted_values[1:] != sorted_values[:-1]))


def _at_last_start(values: npt.NDArray[np.int64], starts: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """Of each place, the value where its run began."""
    return values[np.maximum.accumulate(np.where(starts, np.arange(len(values)), 0))]
