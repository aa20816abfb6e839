"""What distinct counts say of how far off they are, whichever confidence is asked for."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from datasketches import hll_sketch

from streamshed.answering.answer.answering import Answering
from streamshed.answering.table.output import Output, Shape
from streamshed.answering.table.value_kind import Carriage, Notation, ValueKind
from streamshed.answering.table.window_partials import WindowPartials
from streamshed.network.terms.aggregate import AggregateKind
from tests.unit.answering.partials import partials

COUNT = 20_000


def sketch(values: Iterable[int]) -> bytes:
    found = hll_sketch(12)
    for value in values:
        found.update(value)
    return bytes(found.serialize_compact())


def answers(*windows: Iterable[int], confidence: float) -> list[dict[str, Any]]:
    usual = partials(*({} for _ in windows)).columns
    columns = dict(zip(usual.schema.names, usual.columns, strict=True))
    columns["distinct_sketch"] = pa.array([sketch(values) for values in windows], pa.binary())
    value = ValueKind(Carriage.LONG, Notation.NUMBER)
    shape = Shape(AggregateKind.DISTINCT, counts_rows=False, value=value, key_notations=())
    answering = Answering([Output("q", "s", "a", shape, definition_id=7, slot=0)], confidence=confidence)
    [found] = answering.answers(WindowPartials(pa.RecordBatch.from_pydict(columns)))
    return list(found.to_pylist())


def test_standard_errors_are_those_of_simulation_at_every_confidence() -> None:
    windows = [range(seed * COUNT, (seed + 1) * COUNT) for seed in range(60)]
    deviation = np.std([one["value"] for one in answers(*windows, confidence=0.5)])
    told = {
        confidence: [one["standard_error"] for one in answers(*windows[:3], confidence=confidence)]
        for confidence in (0.5, 0.8, 0.95, 0.9999)
    }
    assert told[0.5] == told[0.8] == told[0.95] == told[0.9999]
    assert told[0.5] == pytest.approx([deviation] * 3, rel=0.3)


@pytest.mark.parametrize(("asked", "said"), [(0.5, 0.5), (0.99, 0.99), (0.997, 0.997), (0.9999, 0.997)])
def test_no_more_confidence_is_claimed_than_the_sketch_bounds(asked: float, said: float) -> None:
    [answer] = answers(range(COUNT), confidence=asked)
    assert (answer["confidence"], answer["exact"]) == (said, False)
    assert answer["lower"] < answer["value"] < answer["upper"]


def test_bounds_are_the_wider_the_more_is_asked_for() -> None:
    widths = [
        one["upper"] - one["lower"]
        for confidence in (0.6, 0.9, 0.99)
        for one in answers(range(COUNT), confidence=confidence)
    ]
    error = answers(range(COUNT), confidence=0.6)[0]["standard_error"]
    assert widths == pytest.approx([2 * error, 4 * error, 6 * error], rel=0.05)


def test_of_no_value_the_count_is_0() -> None:
    [answer] = answers([], confidence=0.95)
    assert (answer["value"], answer["lower"], answer["upper"], answer["standard_error"]) == (0.0, 0.0, 0.0, 0.0)
