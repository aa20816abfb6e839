"""Answers as rows of further aggregates: of each window and group one, with the texts of all its keys and values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamshed.answering.derive.derived import exactly
from streamshed.answering.derive.every_digit import ExactParts, is_plain, with_every_digit
from streamshed.answering.estimate.aggregate_value import exact_texts, values
from streamshed.answering.table.group_key import keys_written
from streamshed.answering.table.output import Output
from streamshed.answering.table.window_partials import Longs, WindowPartials

_GROUP = ("window_start", "key_long", "key_text")


@dataclass(frozen=True)
class AnswerRows:
    """Answers of one aggregate.

    Attributes:
        starts: Where their windows start, microseconds.
        keys: Per answer, a list of the texts of its keys.
        values: Per answer, a list of the texts of its values, with all digits.
    """

    starts: Longs
    keys: pa.Array
    values: pa.Array


def answer_rows(outputs: Sequence[Output], partials: WindowPartials) -> AnswerRows:
    """Put the values of each window and group together.

    Args:
        outputs: The values of the aggregate, in order; none of them an estimate.
        partials: Of the aggregate, all rows of any of their windows and groups; none of them sampled.

    Raises:
        ValueError: A window or group is there for one of the values and not for another.
    """
    slots = partials.longs("slot")
    by_slot = {slot: _sorted(partials.take(np.flatnonzero(slots == slot))) for slot in {one.slot for one in outputs}}
    first = by_slot[outputs[0].slot]
    for slot, other in by_slot.items():
        if any(not other.array(name).equals(first.array(name)) for name in _GROUP):
            raise ValueError(f"answers of {outputs[0].query}: value {slot} has other windows than the first")
    texts = list(_texts(outputs, by_slot))
    notations = outputs[0].shape.key_notations
    return AnswerRows(
        starts=first.longs("window_start"),
        keys=keys_written(first.array("key_long"), first.array("key_text"), notations),
        values=_lists(texts, len(first)),
    )


def _texts(outputs: Sequence[Output], by_slot: Mapping[int, WindowPartials]) -> Iterator[pa.Array]:
    """The texts of each answer's values; those of arithmetic once, where its first part is."""
    value_columns = [values(output.shape, by_slot[output.slot]) for output in outputs]
    texts = [
        exact_texts(output.shape, by_slot[output.slot], numbers).cast(pa.string())
        for output, numbers in zip(outputs, value_columns, strict=True)
    ]
    for index, output in enumerate(outputs):
        if output.part is None:
            yield texts[index]
        elif output.part.number == 0:
            derivation = output.part.derivation
            parts = slice(index, index + len(derivation.calls))
            plain = [is_plain(one.shape) for one in outputs[parts]]
            exact_parts = ExactParts([*map(exactly, value_columns[parts])], texts[parts], plain)
            exact = np.ones(len(value_columns[index]), np.bool_)
            yield with_every_digit(derivation.formula, exact_parts, exact).texts.cast(pa.string())


def _sorted(partials: WindowPartials) -> WindowPartials:
    order = pc.sort_indices(
        pa.table({name: partials.array(name) for name in _GROUP}), [(n, "ascending") for n in _GROUP]
    )
    return partials.take(order.to_numpy().astype(np.int64))


def _lists(columns: Sequence[pa.Array], count: int) -> pa.Array:
    """Columns side by side, as one of lists."""
    width = len(columns)
    places = np.arange(width * count).reshape(width, count).T.ravel()
    flat = pa.concat_arrays(list(columns)).take(pa.array(places))
    return pa.ListArray.from_arrays(np.arange(count + 1, dtype=np.int32) * np.int32(width), flat)
