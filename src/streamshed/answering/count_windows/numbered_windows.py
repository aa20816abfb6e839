"""Windows along numbers, as answers show them: by their first number, and the first one after them."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from streamshed.network.words.numbering import MICROSECONDS_PER_NUMBER

_NUMBER_OF = {"window_start": "window_from", "window_end": "window_until"}


def numbered_windows(answers: pa.RecordBatch, queries: Sequence[str] | None = None) -> pa.RecordBatch:
    """Turn the times of windows along numbers into the numbers that these times stand for.

    Args:
        answers: Of a time domain.
        queries: Those whose windows lie along numbers; None: all of them do.

    Returns:
        The answers with `window_from` and `window_until` in the place of `window_start` and `window_end`.
    """
    columns = dict(zip(answers.schema.names, answers.columns, strict=True))
    is_numbered = pc.is_in(columns["query"], pa.array(queries or [], pa.string()))
    for instant, number in _NUMBER_OF.items():
        numbers = pc.divide(pc.cast(columns[instant], pa.int64()), MICROSECONDS_PER_NUMBER)
        nothing = pa.nulls(len(answers), answers.schema.field(instant).type)
        if queries is None:
            columns[number], columns[instant] = numbers, nothing
        else:
            columns[number] = pc.if_else(is_numbered, numbers, pa.nulls(len(answers), pa.int64()))
            columns[instant] = pc.if_else(is_numbered, nothing, columns[instant])
    return pa.RecordBatch.from_arrays(list(columns.values()), schema=answers.schema)
