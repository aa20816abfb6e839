"""Answers, a table of them from a table of window partials: value, bounds, and whether the answer is exact."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from streamshed.answering.answer.aggregate_estimate import estimated
from streamshed.answering.answer.alike_rows import UsualRanges, usual_of, with_alike
from streamshed.answering.answer.window_estimate import Estimate
from streamshed.answering.count_windows.numbered_windows import numbered_windows
from streamshed.answering.derive.derived_answers import AnsweredParts, DerivedAnswers
from streamshed.answering.estimate.aggregate_value import (
    exact_texts,
)
from streamshed.answering.estimate.block_bounds import with_blocks
from streamshed.answering.estimate.block_sums import has_blocks
from streamshed.answering.estimate.carried_rows import CarriedRows
from streamshed.answering.estimate.interval import (
    enough_rows,
)
from streamshed.answering.estimate.value_ranges import UsualRange
from streamshed.answering.table.answer_schema import ANSWER, GAP, KINDS, LATE, ROW, UNREADABLE, arrow_schema
from streamshed.answering.table.dropped_windows import Dropped, drop_reasons, is_carried, is_dropped, missing_groups
from streamshed.answering.table.group_key import keys_written
from streamshed.answering.table.incomplete import Incomplete, incomplete, least_shares
from streamshed.answering.table.output import Output, Shape
from streamshed.answering.table.outputs_by_place import OutputsByPlace
from streamshed.answering.table.shed_interval import ShedInterval
from streamshed.answering.table.unreadable import unreadable_fields
from streamshed.answering.table.window_partials import Doubles, Longs, WindowPartials
from streamshed.network.terms.aggregate import AggregateKind

SAMPLED, NO_ROW_KEPT, SKETCHED = "sampled", "no row kept", "sketched"

_KINDS = pa.array(KINDS)
_KIND_OF = {kind: index for index, kind in enumerate(KINDS)}


class Answering:
    """Makes answers.

    Args:
        outputs: What the network's queries ask.
        confidence: Of the intervals (lower, upper), in (0, 1).
        is_numbered: Whether windows lie along numbers, not in time.
    """

    def __init__(self, outputs: Sequence[Output], confidence: float, *, is_numbered: bool = False) -> None:
        self._is_numbered = is_numbered
        self._outputs = tuple(outputs)
        self._confidence = confidence
        self._asked_outputs = OutputsByPlace(outputs)
        self.carried = CarriedRows(outputs)
        self.derived = DerivedAnswers(outputs)
        shapes: dict[Shape, int] = {}
        self._shape_of = np.array([shapes.setdefault(output.shape, len(shapes)) for output in outputs], np.int64)
        self._shapes = tuple(shapes)
        queries = [output.query for output in outputs]
        self._has_keys = np.array([bool(output.shape.key_notations) for output in outputs], np.bool_)
        self._is_first = np.array([queries.index(query) == index for index, query in enumerate(queries)], np.bool_)
        self._queries = pa.array(queries, pa.string())
        self._by_count = tuple({output.query: None for output in outputs if output.is_by_count})
        self.definitions_by_count = tuple({output.definition_id: None for output in outputs if output.is_by_count})
        """`Query.definition_id` of queries whose windows hold so many rows, which have no place in time."""
        self._aggregates = pa.array([output.aggregate for output in outputs], pa.string())

    def answers(
        self,
        partials: WindowPartials,
        shed: Sequence[ShedInterval] = (),
        dropped: Dropped = MappingProxyType({}),
        partly_joined: Sequence[ShedInterval] = (),
        effective_shares: Mapping[str, float] = MappingProxyType({}),
        lost: Sequence[ShedInterval] = (),
        usual_ranges: Mapping[str, UsualRange] = MappingProxyType({}),
    ) -> list[pa.RecordBatch]:
        """Turn window partials into answers.

        Args:
            partials: Of any queries, those of earlier networks included; of `derived.definitions` from `whole_groups`.
            shed: What was shed of late, from the journal.
            dropped: Windows that were dropped of late.
            partly_joined: Event times of results of joins that were not done fully of late.
            effective_shares: By `share_name`, the usual share of the kept rows that carries the estimate.
            lost: Event times that rows may have had which were lost before they were read.
            usual_ranges: By `share_name`, how far apart the values of a window are as a rule.

        Returns:
            Tables of the answer schema.
        """
        kinds = pc.index_in(partials.array("kind"), _KINDS).to_numpy(zero_copy_only=False)
        rows, outputs = self._asked_outputs.pairs(partials.longs("definition_id"), partials.longs("slot"))
        tables = [_unreadable(partials.take(np.flatnonzero(kinds == _KIND_OF[UNREADABLE])))]
        is_missing, has_no_group = is_dropped(partials, dropped)[rows], is_carried(partials)[rows]
        is_window = kinds[rows] == _KIND_OF[ANSWER]
        is_answer = is_window & ~is_missing & ~has_no_group
        is_gap = is_window & is_missing & self._is_first[outputs] & (has_no_group == self._has_keys[outputs])
        tables.append(self._gaps(partials.take(rows[is_gap]), outputs[is_gap], dropped))
        shapes = np.where(is_answer, self._shape_of[outputs], -1)
        parts, ranges = list[AnsweredParts](), usual_of(self._outputs, usual_ranges)
        for shape in np.unique(shapes[is_answer]).tolist():
            chosen = shapes == shape
            windows, of = partials.take(rows[chosen]), outputs[chosen]
            lacking = self._incomplete(partly_joined, lost, windows, of)
            usual = self.carried.usual(windows, of, effective_shares)
            answers = self._aggregated(self._shapes[shape], windows, of, shed, lacking, usual, ranges[:, of])
            tables.append(answers.filter(pa.array(~self.derived.is_part[of])))
            if self.derived.is_part[of].any():
                parts.append(AnsweredParts(windows, of, answers, self._least_rate_of_the_window(windows, of, shed)))
        tables += self.derived.answers(parts, self._confidence)
        is_row = kinds[rows] == _KIND_OF[ROW]
        tables.append(self._rows(partials.take(rows[is_row]), outputs[is_row], partly_joined, lost))
        is_late = (kinds[rows] == _KIND_OF[LATE]) & self._is_first[outputs] & (partials.longs("slot")[rows] == 0)
        is_late &= partials.longs("rows")[rows] > 0
        tables.append(self._late(partials.take(rows[is_late]), outputs[is_late]))
        batches = [batch for batch in tables if batch.num_rows]
        if self._is_numbered:
            return [numbered_windows(batch) for batch in batches]
        return [numbered_windows(batch, self._by_count) for batch in batches] if self._by_count else batches

    def _aggregated(
        self,
        shape: Shape,
        partials: WindowPartials,
        outputs: Longs,
        shed: Sequence[ShedInterval],
        lacking: Incomplete,
        usual: Doubles,
        ranges: UsualRanges,
    ) -> pa.RecordBatch:
        kept_rate = self._least_rate_of_the_window(partials, outputs, shed)
        counted = partials.longs("rows" if shape.counts_rows else "present")
        estimate = estimated(shape, partials, kept_rate, counted, self._confidence)
        estimate = with_alike(shape, partials, estimate, kept_rate, ranges)
        estimate = self._in_blocks(shape, partials, outputs, shed, estimate).of_part(
            lacking.is_part, is_count=shape.function is AggregateKind.COUNT
        )
        exact, value_column = estimate.exact, estimate.value_column
        lower, upper = estimate.bound_columns
        kept_share = np.where(kept_rate >= 1.0, 1.0, _shares_kept(partials, kept_rate))
        columns = {
            "query": self._queries.take(pa.array(outputs)),
            "window_start": partials.array("window_start"),
            "window_end": partials.array("window_end"),
            "key": keys_written(partials.array("key_long"), partials.array("key_text"), shape.key_notations),
            "aggregate": self._aggregates.take(pa.array(outputs)),
            "value": value_column,
            "value_text": pc.if_else(pa.array(exact), exact_texts(shape, partials, value_column), None),
            "lower": lower,
            "upper": upper,
            "confidence": pa.array(np.where(exact, 1.0, estimate.confidence)),
            "standard_error": estimate.error_column,
            "sampling_rate": pa.array(kept_share * lacking.share),
            "rows_used": pa.array(counted),
            "rows_estimated": pa.array(partials.doubles("rows_weighted" if shape.counts_rows else "present_weighted")),
            "exact": pa.array(exact),
            "low": pa.array((kept_rate < 1.0) & (estimate.is_low | (usual < enough_rows(shape.function)))),
            "reason": pa.array(_reasons(partials, kept_rate, lacking), pa.string(), mask=exact),
        }
        return _batch(ANSWER, len(partials), columns)

    def _in_blocks(
        self, shape: Shape, partials: WindowPartials, outputs: Longs, shed: Sequence[ShedInterval], estimate: Estimate
    ) -> Estimate:
        """Widen an estimate where blocks were left unread, whose rows were left out many at once."""
        if shape.in_cohorts:
            return estimate
        in_blocks = has_blocks(partials)
        unread = [interval for interval in shed if interval.in_blocks]
        if unread:
            in_blocks |= self._least_shares_in_windows(unread, partials, outputs) < 1
        in_blocks &= ~estimate.exact
        if not in_blocks.any():
            return estimate
        numbers = estimate.value_column.to_numpy(zero_copy_only=False)
        error, bounds, is_dark = with_blocks(
            shape, partials, numbers, estimate.error, estimate.bounds, in_blocks, estimate.confidence
        )
        return replace(estimate, error=error, bounds=bounds, is_low=estimate.is_low | is_dark)

    def _least_rate_of_the_window(
        self, partials: WindowPartials, outputs: Longs, shed: Sequence[ShedInterval]
    ) -> Doubles:
        """The least rate at which rows of the window may have been sampled: from the journal, not from the rows."""
        least: Doubles = np.minimum(1.0 / np.nan_to_num(partials.doubles("greatest_weight"), nan=1.0), 1.0)
        return np.minimum(least, self._least_shares_in_windows(shed, partials, outputs))

    def _least_shares_in_windows(
        self, intervals: Sequence[ShedInterval], partials: WindowPartials, outputs: Longs
    ) -> Doubles:
        start, end = partials.longs("window_start"), partials.longs("window_end")
        return least_shares(intervals, self._outputs, outputs, start, end)

    def _incomplete(
        self,
        partly_joined: Sequence[ShedInterval],
        lost: Sequence[ShedInterval],
        partials: WindowPartials,
        outputs: Longs,
    ) -> Incomplete:
        windows = partials.longs("window_start"), partials.longs("window_end")
        return incomplete(partly_joined, lost, self._outputs, outputs, windows)

    def _rows(
        self,
        partials: WindowPartials,
        outputs: Longs,
        partly_joined: Sequence[ShedInterval],
        lost: Sequence[ShedInterval],
    ) -> pa.RecordBatch:
        at = partials.longs("window_start")
        lacking = incomplete(partly_joined, lost, self._outputs, outputs, (at, at + 1))
        is_sample = partials.doubles("greatest_weight") > 1.0
        exact = ~is_sample & ~lacking.is_part
        kept_share = _shares_kept(partials, 1.0 / partials.doubles("greatest_weight"))
        columns = {
            "query": self._queries.take(pa.array(outputs)),
            "window_start": partials.array("window_start"),
            "value_text": partials.array("key_text"),
            "sampling_rate": pa.array(np.where(is_sample, kept_share, 1.0) * lacking.share),
            "rows_used": partials.array("rows"),
            "rows_estimated": partials.array("rows_weighted"),
            "exact": pa.array(exact),
            "low": pa.array(np.zeros(len(partials), np.bool_)),
            "reason": pa.array(np.where(lacking.is_part, lacking.reason, SAMPLED), pa.string(), mask=exact),
        }
        return _batch(ROW, len(partials), columns)

    def _gaps(self, partials: WindowPartials, outputs: Longs, dropped: Dropped) -> pa.RecordBatch:
        reasons = drop_reasons(partials, dropped)
        nothing = np.zeros(len(partials), np.int64)
        columns = {
            "query": self._queries.take(pa.array(outputs)),
            "window_start": partials.array("window_start"),
            "window_end": partials.array("window_end"),
            "value_text": missing_groups(partials, dropped),
            "rows_used": pa.array(nothing),
            "exact": pa.array(nothing.astype(np.bool_)),
            "low": pa.array(nothing.astype(np.bool_)),
            "reason": pa.array(reasons, pa.string()),
        }
        return _batch(GAP, len(partials), columns)

    def _late(self, partials: WindowPartials, outputs: Longs) -> pa.RecordBatch:
        columns = {"query": self._queries.take(pa.array(outputs)), **_counted(partials)}
        return _batch(LATE, len(partials), columns)


def _unreadable(partials: WindowPartials) -> pa.RecordBatch:
    described = [unreadable_fields(text) for text in partials.array("key_text").to_pylist()]
    stream, reason, identity, text = zip(*described, strict=True) if described else ((), (), (), ())
    columns = {
        "query": pa.array(stream, pa.string()),
        **_counted(partials),
        "key": pa.array([[known] for known in identity], pa.list_(pa.string())),
        "value_text": pa.array(text, pa.string()),
        "reason": pa.array(reason, pa.string()),
    }
    return _batch(UNREADABLE, len(partials), columns)


def _counted(partials: WindowPartials) -> dict[str, pa.Array]:
    return {
        "window_start": partials.array("window_start"),
        "window_end": partials.array("window_end"),
        "value": pa.array(partials.doubles("rows")),
        "rows_used": partials.array("rows"),
        "rows_estimated": partials.array("rows_weighted"),
        "exact": pa.array(partials.doubles("greatest_weight") <= 1.0),
        "low": pa.array(np.zeros(len(partials), np.bool_)),
    }


def _reasons(partials: WindowPartials, kept_rate: Doubles, lacking: Incomplete) -> NDArray[np.str_]:
    """Why answers are not exact, as far as they are not."""
    shed_reason = np.where(partials.longs("rows") == 0, NO_ROW_KEPT, SAMPLED)
    reasons = np.where(kept_rate >= 1.0, SKETCHED, shed_reason)
    return np.where(lacking.is_part, lacking.reason, reasons)


def _shares_kept(partials: WindowPartials, otherwise: Doubles) -> Doubles:
    """Rows kept by rows estimated; where none was kept, the rate at which that came to be."""
    rows = partials.longs("rows")
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.minimum(rows / partials.doubles("rows_weighted"), 1.0)
    return np.where(rows > 0, share, otherwise)


def _batch(kind: str, count: int, columns: Mapping[str, pa.Array]) -> pa.RecordBatch:
    filled = {"kind": pa.array(np.full(count, kind), pa.string()), **columns}
    schema = arrow_schema()
    arrays = [
        pc.cast(filled[field.name], field.type) if field.name in filled else pa.nulls(count, field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
