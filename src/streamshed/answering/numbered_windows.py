"""Windows along numbers, as answers show them: by their first number, and the first one after them."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from streamshed.network.numbering import MICROSECONDS_PER_NUMBER

_NUMBER_OF = {"window_start": "window_from", "window_end": "window_until"}


def numbered_windows(answers: pa.RecordBatch) -> pa.RecordBatch:
    """Turn the times of windows, which is what they are inside, into the numbers that these stand for.

    Args:
        answers: Of a time domain whose streams have numbers.

    Returns:
        The answers with `window_from` and `window_until` in the place of `window_start` and `window_end`.
    """
    columns = dict(zip(answers.schema.names, answers.columns, strict=True))
    for instant, number in _NUMBER_OF.items():
        microseconds = pc.cast(columns[instant], pa.int64())
        columns[number] = pc.divide(microseconds, MICROSECONDS_PER_NUMBER)
        columns[instant] = pa.nulls(len(answers), answers.schema.field(instant).type)
    return pa.RecordBatch.from_arrays(list(columns.values()), schema=answers.schema)
