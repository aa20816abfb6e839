"""Answers that follow from others of their window and group by arithmetic."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamshed.answering.derive.delta_method import SampledPart, delta_bounds
from streamshed.answering.derive.derived import Bounded
from streamshed.answering.derive.every_digit import ExactParts, is_plain, with_every_digit
from streamshed.answering.table.output import Output
from streamshed.answering.table.window_partials import Doubles, Longs, Truths, WindowPartials
from streamshed.network.terms.derivation import Derivation

GROUP = ("window_start", "definition_id", "key_long", "key_text")
"""What partials of one window and group of a query have in common."""

_DIGITS = 12


def whole_groups(batches: Iterable[pa.RecordBatch], definitions: Sequence[int]) -> Iterator[pa.RecordBatch]:
    """Collect all partials of some queries in one table, and pass those of other queries on.

    Args:
        batches: Tables of window partials; those of one window and group may be in several.
        definitions: `Query.definition_id` of the queries to collect; empty: all partials are passed on.
    """
    if not definitions:
        yield from batches
        return
    waiting: list[pa.RecordBatch] = []
    for record_batch in batches:
        is_of_them = pc.is_in(record_batch.column("definition_id"), pa.array(definitions, pa.int64()))
        waiting.append(record_batch.filter(is_of_them))
        if (passing := record_batch.filter(pc.invert(is_of_them))).num_rows:
            yield passing
    if sum(record_batch.num_rows for record_batch in waiting):
        yield pa.Table.from_batches(waiting).combine_chunks().to_batches()[0]


@dataclass(frozen=True)
class AnsweredParts:
    """Answers of which some are parts of others.

    Attributes:
        windows: Window partials.
        outputs: For which output each was answered.
        answers: The answers.
        kept_rate: The least rate in force in each window.
    """

    windows: WindowPartials
    outputs: Longs
    answers: pa.RecordBatch
    kept_rate: Doubles

    def of_output(self, index: int) -> AnsweredParts:
        """Return the answers of one output, in order of windows and groups."""
        places = np.flatnonzero(self.outputs == index)
        groups = _groups(self.windows.take(places))
        places = places[pc.sort_indices(groups, [(name, "ascending") for name in GROUP]).to_numpy()]
        rows = pa.array(places)
        return AnsweredParts(
            self.windows.take(places), self.outputs[places], self.answers.take(rows), self.kept_rate[places]
        )


class DerivedAnswers:
    """Makes them of the answers for their parts.

    Args:
        outputs: What the network's queries ask, the parts among it.
    """

    def __init__(self, outputs: Sequence[Output]) -> None:
        self._outputs = tuple(outputs)
        self.is_part: Truths = np.array([output.part is not None for output in outputs], np.bool_)
        self._answers: dict[tuple[str, str], tuple[Derivation, list[int]]] = {}
        for index, output in enumerate(outputs):
            if output.part is not None:
                answer = output.query, output.part.name
                self._answers.setdefault(answer, (output.part.derivation, []))[1].append(index)
        self.definitions: tuple[int, ...] = tuple(
            {
                outputs[indices[0]].definition_id: None
                for _, indices in self._answers.values()
                if len({outputs[index].slot for index in indices}) > 1
            }
        )
        """`Query.definition_id` of queries with parts in several rows of partials: these come in `whole_groups`."""

    def answers(self, parts: Iterable[AnsweredParts], confidence: float) -> Iterator[pa.RecordBatch]:
        """Return tables of the answer schema.

        Args:
            parts: Answers, among them those that derived answers are made of.
            confidence: Of the bounds, in (0, 1).

        Raises:
            ValueError: A window or group is there for one of the parts and not for another.
        """
        parts_by_output = {
            index: some.of_output(index)
            for some in parts
            for index in np.unique(some.outputs[self.is_part[some.outputs]]).tolist()
        }
        for (query, name), (derivation, indices) in self._answers.items():
            answered_parts = [parts_by_output[index] for index in indices if index in parts_by_output]
            if not answered_parts:
                continue
            groups = [_groups(part.windows) for part in answered_parts]
            if len(answered_parts) < len(indices) or not all(others.equals(groups[0]) for others in groups):
                raise ValueError(f'answers of {query}, "{name}": a part has other windows than the first')
            sampled = [self._sampled(index, part) for index, part in zip(indices, answered_parts, strict=True)]
            yield _derived(name, derivation, [part.answers for part in answered_parts], sampled, confidence)

    def _sampled(self, index: int, part: AnsweredParts) -> SampledPart:
        output = self._outputs[index]
        values = _doubles(part.answers, "value")
        return SampledPart(output.shape, output.slot, part.windows, values, part.kept_rate)


def _groups(windows: WindowPartials) -> pa.Table:
    return pa.table({name: windows.array(name) for name in GROUP})


def _derived(
    name: str,
    derivation: Derivation,
    parts: Sequence[pa.RecordBatch],
    sampled: Sequence[SampledPart],
    confidence: float,
) -> pa.RecordBatch:
    exact = np.logical_and.reduce([_truths(part, "exact") for part in parts])
    low = ~exact & np.logical_or.reduce([_truths(part, "low") for part in parts])
    texts = [part.column("value_text") for part in parts]
    exact_parts = ExactParts([_bounded(part) for part in parts], texts, [is_plain(part.shape) for part in sampled])
    worked_out = with_every_digit(derivation.formula, exact_parts, exact)
    bounded = worked_out.bounded
    errors = np.full(len(exact), np.nan)
    if (delta := delta_bounds(derivation.formula, bounded, sampled, confidence)) is not None:
        # Where a join was done in part, errors of the parts are not known: neither are those of the derived answers.
        is_told = delta.is_told & ~np.isnan([_doubles(part, "standard_error") for part in parts]).any(axis=0)
        lower, upper = np.where(is_told, (delta.lower, delta.upper), (bounded.lower, bounded.upper))
        bounded, errors = replace(bounded, lower=lower, upper=upper), np.where(is_told, delta.errors, np.nan)
    values = pa.array(bounded.values, mask=bounded.is_null)
    certain = exact | bounded.is_null
    columns = {
        "aggregate": pa.array([name] * len(exact), pa.string()),
        "value": values,
        "value_text": pc.if_else(pa.array(exact), worked_out.texts, None),
        "lower": _bound(bounded, bounded.lower, exact),
        "upper": _bound(bounded, bounded.upper, exact),
        "confidence": pa.array(np.where(exact, 1.0, _all_hold([_doubles(part, "confidence") for part in parts]))),
        "standard_error": pa.array(np.where(certain, 0.0, errors), mask=~certain & np.isnan(errors)),
        "sampling_rate": pa.array(np.minimum.reduce([_doubles(part, "sampling_rate") for part in parts])),
        "rows_used": reduce(pc.max_element_wise, [part.column("rows_used") for part in parts]),
        "rows_estimated": reduce(pc.max_element_wise, [part.column("rows_estimated") for part in parts]),
        "exact": pa.array(exact),
        "low": pa.array(low),
        "reason": pc.coalesce(*[part.column("reason") for part in parts]),
    }
    first = parts[0]
    arrays = [pc.cast(columns.get(field.name, first.column(field.name)), field.type) for field in first.schema]
    return pa.RecordBatch.from_arrays(arrays, schema=first.schema)


def _bounded(part: pa.RecordBatch) -> Bounded:
    lower, upper = _doubles(part, "lower"), _doubles(part, "upper")
    is_null = part.column("value").is_null().to_numpy(zero_copy_only=False)
    return Bounded(
        values=_doubles(part, "value"),
        lower=np.where(np.isnan(lower), -np.inf, lower),
        upper=np.where(np.isnan(upper), np.inf, upper),
        is_null=is_null,
    )


def _bound(bounded: Bounded, bound: Doubles, exact: Truths) -> pa.Array:
    """A column of bounds: the value itself where it is exact, null where there is no value or no bound."""
    return pa.array(np.where(exact, bounded.values, bound), mask=bounded.is_null | (~exact & np.isinf(bound)))


def _all_hold(confidences: Sequence[Doubles]) -> Doubles:
    """With which probability the bounds of all parts hold at a time, at least."""
    held = 1.0 - np.add.reduce([1.0 - confidence for confidence in confidences])
    return np.asarray(np.round(np.maximum(0.0, held), _DIGITS), np.float64)


def _doubles(record_batch: pa.RecordBatch, name: str) -> Doubles:
    numbers: Doubles = record_batch.column(name).to_numpy(zero_copy_only=False)
    return numbers


def _truths(record_batch: pa.RecordBatch, name: str) -> Truths:
    truths: Truths = record_batch.column(name).to_numpy(zero_copy_only=False)
    return truths
