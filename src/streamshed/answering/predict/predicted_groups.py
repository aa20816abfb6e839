"""Predictions in the place of gaps of groups, as rows of the answer schema that no one can take for answers."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from streamshed.answering.predict.predicted_query import PredictedQuery
from streamshed.answering.predict.prediction import predict_groups
from streamshed.answering.table.answer_schema import PREDICTION, arrow_schema
from streamshed.answering.table.dropped_windows import window_numbers
from streamshed.answering.table.window_partials import Doubles, Longs
from streamshed.network.terms.cohorts import COHORTS
from streamshed.network.terms.window import WindowSpecification
from streamshed.network.words.numbering import MICROSECONDS_PER_NUMBER

Gaps = Mapping[int, str | None]
"""By the number of a window that was dropped, the `value_text` of its gap: null where all groups miss it."""


@dataclass(frozen=True, slots=True)
class AnsweredGroup:
    """The answers of one group and aggregate.

    Attributes:
        aggregate: The aggregate's name.
        key: The group's.
        numbers: Of the windows that were answered, ascending.
        values: What they were answered. NaN and what is infinite tell nothing of other windows.
    """

    aggregate: str
    key: tuple[str | None, ...]
    numbers: Longs
    values: Doubles

    @classmethod
    def of(
        cls, query: PredictedQuery, aggregate: str, key: Iterable[str | None], starts: Longs, values: Doubles
    ) -> AnsweredGroup:
        """Sort the answers of a group; of several to one window, one counts.

        Args:
            query: Its query.
            aggregate: The aggregate's name.
            key: The group's.
            starts: When the windows start, microseconds.
            values: What they were answered.
        """
        numbers, first = np.unique(window_numbers(query.window, starts), return_index=True)
        return cls(aggregate, tuple(key), numbers, values[first])

    def missing(self, query: PredictedQuery, gaps: Gaps) -> Longs:
        """Return the windows to predict: with keys, those between its first answer and its last one.

        Before and after, nothing tells whether a group had any rows.
        """
        windows = missing_windows(self.numbers, gaps)
        if not query.keys:
            return windows
        return windows[(windows > self.numbers[0]) & (windows < self.numbers[-1])] if len(self.numbers) else windows[:0]


def gaps_of(query: PredictedQuery, starts: Longs, texts: Sequence[str | None]) -> Gaps:
    """Return the gaps of a query.

    Args:
        query: The query.
        starts: When the windows start, microseconds, in any order.
        texts: Per window, which groups miss it; None: all. If a window has several gaps, one None is enough.
    """
    gaps: dict[int, str | None] = {}
    for number, text in zip(window_numbers(query.window, starts).tolist(), texts, strict=True):
        gaps[number] = None if gaps.get(number, text) is None else text
    return gaps


def predicted_groups(
    query: PredictedQuery, groups_to_predict: Iterable[tuple[AnsweredGroup, Longs]], *, method: str
) -> pa.Table:
    """Predict what windows of groups would have been answered.

    Args:
        query: The query.
        groups_to_predict: Groups, and the numbers of the windows to predict, ascending.
        method: One of `PREDICTION_METHODS`.

    Returns:
        Rows of the answer schema, of kind "prediction".

    Raises:
        InvalidNetworkError: There is no such method.
    """
    # Groups with the same answered windows are predicted together: the expensive part is the same for all of them.
    alike: dict[tuple[bytes, bytes], list[tuple[AnsweredGroup, Longs]]] = {}
    for group, missing in groups_to_predict:
        if len(missing):
            tells = np.isfinite(group.values)
            finite_group = AnsweredGroup(group.aggregate, group.key, group.numbers[tells], group.values[tells])
            alike.setdefault((finite_group.numbers.tobytes(), missing.tobytes()), []).append((finite_group, missing))
    tables = [arrow_schema().empty_table()]
    for groups in alike.values():
        together, (first, missing) = [group for group, _ in groups], groups[0]
        values = np.stack([group.values for group in together])
        predicted = predict_groups(first.numbers, values, missing, method=method)
        tables.append(_rows(query, together, missing, predicted.values, predicted.errors, method))
    return pa.concat_tables(tables)


def _rows(
    query: PredictedQuery,
    groups: Sequence[AnsweredGroup],
    missing: Longs,
    values: Doubles,
    errors: Doubles,
    method: str,
) -> pa.Table:
    count, each = values.size, len(missing)
    starts = np.tile(missing * query.window.slide_microseconds + query.window.offset_microseconds, len(groups))
    columns = {
        "kind": pa.repeat(PREDICTION, count),
        "query": pa.repeat(query.name, count),
        "key": pa.array([list(group.key) for group in groups for _ in range(each)], pa.list_(pa.string())),
        "aggregate": pa.array([group.aggregate for group in groups for _ in range(each)], pa.string()),
        "value": pa.array(values.ravel(), from_pandas=True),
        "standard_error": pa.array(errors.ravel(), from_pandas=True),
        "rows_used": pa.array(np.zeros(count, np.int64)),
        "exact": pa.array(np.zeros(count, np.bool_)),
        "low": pa.array(np.zeros(count, np.bool_)),
        "reason": pa.repeat(f"predicted: {method}", count),
        **_window_columns(starts, query.window),
    }
    schema = arrow_schema()
    arrays = [
        columns[field.name].cast(field.type) if field.name in columns else pa.nulls(count, field.type)
        for field in schema
    ]
    return pa.Table.from_arrays(arrays, schema=schema)


def _window_columns(starts: Longs, window: WindowSpecification) -> dict[str, pa.Array]:
    ends = starts + window.size_microseconds
    if window.is_numbered:
        return {
            "window_from": pa.array(starts // MICROSECONDS_PER_NUMBER),
            "window_until": pa.array(ends // MICROSECONDS_PER_NUMBER),
        }
    return {"window_start": pa.array(starts), "window_end": pa.array(ends)}


def missing_windows(answered: Longs, gaps: Mapping[int, str | None]) -> Longs:
    """Return the windows that were surely dropped for a group, ascending.

    Where gaps are by group, a gap says which cohorts miss a window, but no answer names the cohort of its group. A
    group is in no cohort that missed a window which the group was answered. A window counts as dropped if all remaining
    cohorts miss it. Of other windows it is not known whether the group had any rows.

    Args:
        answered: Numbers of the windows that the group was answered.
        gaps: By number of a window, the `value_text` of its gap: null where all groups miss it.

    Example:
        >>> some = '{"cohorts": [0, 1, 2, 3, 4, 5, 6, 7], "of": 16}'
        >>> others = '{"cohorts": [8, 9, 10, 11, 12, 13, 14, 15], "of": 16}'
        >>> missing_windows(np.array([0, 2]), {1: None, 2: some, 3: others, 4: some}).tolist()
        [1, 3]
    """
    cohorts = {number: _cohorts(text) for number, text in gaps.items() if text is not None}
    left = frozenset(range(COHORTS)).difference(*(cohorts.get(number, frozenset()) for number in answered.tolist()))
    dropped = [number for number in gaps if number not in cohorts or left <= cohorts[number]]
    missing: Longs = np.setdiff1d(np.array(dropped, np.int64), answered)
    return missing


@functools.lru_cache(maxsize=4096)
def _cohorts(text: str) -> frozenset[int]:
    return frozenset(json.loads(text)["cohorts"])
