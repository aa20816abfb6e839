"""Predictions while a network runs: of each gap as soon as a later window of the group was answered."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from streamshed.answering.predict.predicted_answers import answered_groups, by_window, gaps_in, own_windows
from streamshed.answering.predict.predicted_groups import AnsweredGroup, predicted_groups
from streamshed.answering.predict.predicted_query import PredictedQuery
from streamshed.answering.predict.prediction import JUDGED_BY
from streamshed.answering.table.answer_schema import arrow_schema
from streamshed.answering.table.window_partials import Longs

KEPT_WINDOWS = 3 * JUDGED_BY
"""Answers and gaps of so many windows are remembered, the latest of each query."""


class RunningPredictions:
    """Takes the answers and gaps of one micro-batch after the other, and predicts what can be from now on.

    A window is predicted once for each group and aggregate: when the next answer of the group comes. So what follows a
    gap is known of one window as a rule; who asks later (`predicted_answers`) knows more.

    Args:
        queries: Whose windows are predicted.
        method: One of `PREDICTION_METHODS`.
    """

    def __init__(self, queries: Iterable[PredictedQuery], *, method: str) -> None:
        self._method = method
        self._states = [_QueryState(query) for query in queries]

    def add(self, rows: pa.Table) -> pa.Table:
        """Take rows of the answer schema; the windows of a group are later than those taken before.

        Returns:
            New predictions, by window: rows of the answer schema, of kind "prediction".
        """
        tables = [
            predicted_groups(state.query, state.groups_to_predict(rows), method=self._method) for state in self._states
        ]
        return by_window(pa.concat_tables([arrow_schema().empty_table(), *tables]))


@dataclass(slots=True)
class _Answers:
    """Of a group and aggregate, ascending."""

    numbers: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)

    def extend(self, group: AnsweredGroup) -> int:
        """Append what is later than what is known; return up to which window all was known before."""
        since = self.numbers[-1] if self.numbers else int(group.numbers[0])
        is_new = np.full(len(group.numbers), True) if not self.numbers else group.numbers > since
        self.numbers += group.numbers[is_new].tolist()
        self.values += group.values[is_new].tolist()
        if len(self.numbers) > 2 * KEPT_WINDOWS:  # not each time, as it takes as long as there are windows
            first = bisect_right(self.numbers, self.numbers[-1] - KEPT_WINDOWS)
            del self.numbers[:first], self.values[:first]
        return since

    def as_group(self, group: AnsweredGroup) -> AnsweredGroup:
        """Return what is remembered of a group."""
        first = bisect_right(self.numbers, self.numbers[-1] - KEPT_WINDOWS)
        numbers, values = np.array(self.numbers[first:], np.int64), np.array(self.values[first:], np.float64)
        return AnsweredGroup(group.aggregate, group.key, numbers, values)


@dataclass(slots=True)
class _QueryState:
    query: PredictedQuery
    gaps: dict[int, str | None] = field(default_factory=dict)
    groups: dict[tuple[str, tuple[str | None, ...]], _Answers] = field(default_factory=dict)

    def groups_to_predict(self, rows: pa.Table) -> Iterator[tuple[AnsweredGroup, Longs]]:
        """Take rows in, and return the groups with windows to predict now, and the numbers of these windows."""
        query_rows = own_windows(rows, self.query)
        self.gaps |= gaps_in(query_rows, self.query)
        places = sorted(self.gaps)
        for group in answered_groups(query_rows, self.query):
            group_answers = self.groups.setdefault((group.aggregate, group.key), _Answers())
            since, until = group_answers.extend(group), group_answers.numbers[-1]
            if bisect_right(places, since) < bisect_left(places, until):
                so_far = group_answers.as_group(group)
                missing = so_far.missing(self.query, self.gaps)
                yield so_far, missing[(missing > since) & (missing < until)]
        self._forget()

    def _forget(self) -> None:
        """Drop gaps, and groups that had their last answer, too long ago."""
        latest = max((known.numbers[-1] for known in self.groups.values()), default=None)
        if latest is None:
            return
        self.gaps = {number: text for number, text in self.gaps.items() if number > latest - KEPT_WINDOWS}
        for name in [name for name, known in self.groups.items() if known.numbers[-1] <= latest - KEPT_WINDOWS]:
            del self.groups[name]
