"""Transcripts without Spark: windows, dropped windows and answers as the core has them."""

from __future__ import annotations

from collections import defaultdict

import pytest

from streamshed.answering.answer.answering import Answering
from streamshed.answering.table.answer_schema import ANSWER, GAP
from streamshed.answering.table.dropped_windows import DroppedWindows
from streamshed.answering.table.output import Output, Shape
from streamshed.answering.table.value_kind import Carriage, Notation, ValueKind
from streamshed.network.terms.aggregate import AggregateKind
from streamshed.planning.window_drop.windows.runs import runs_of
from tests.oracles.windows_of_a_row import windows_containing
from tests.transcripts.transcript import SECOND, STEPS, Transcript, transcripts
from tests.unit.answering.partials import kept, partials

DEFINITION = 7
COUNT = Shape(AggregateKind.COUNT, counts_rows=True, value=None, key_notations=())
SUM = Shape(AggregateKind.SUM, counts_rows=False, value=ValueKind(Carriage.DOUBLE, Notation.NUMBER), key_notations=())
OUTPUTS = [
    Output("q", "events", name, shape, definition_id=DEFINITION, slot=0)
    for name, shape in (("n", COUNT), ("total", SUM))
]


@pytest.mark.parametrize("transcript", transcripts(), ids=lambda transcript: transcript.name)
def test_the_core_says_what_the_transcript_says(transcript: Transcript) -> None:
    values, late = _windows(transcript)
    windows = transcript.specification
    for start in transcript.gaps:
        values.setdefault(int(start * SECOND), [])
    numbers = sorted(
        int(start * SECOND) // windows.slide_microseconds for starts in transcript.drop.values() for start in starts
    )
    dropped = {DEFINITION: [DroppedWindows(windows, tuple(runs_of(numbers)))]}
    batches = Answering(OUTPUTS, confidence=0.95).answers(
        partials(
            *(
                {
                    **kept(1.0, numbers_of),
                    "definition_id": DEFINITION,
                    "window_start": start,
                    "window_end": start + windows.size_microseconds,
                }
                for start, numbers_of in values.items()
            )
        ),
        dropped=dropped,
    )
    rows = [row for batch in batches for row in batch.to_pylist()]
    answers: dict[float, dict[str, float]] = defaultdict(dict)
    for row in rows:
        if row["kind"] == ANSWER:
            assert row["exact"]
            answers[row["window_start"].timestamp()][row["aggregate"]] = row["value"]
    assert {start: (row["n"], row["total"]) for start, row in answers.items()} == transcript.answers
    assert sorted(row["window_start"].timestamp() for row in rows if row["kind"] == GAP) == sorted(transcript.gaps)
    assert late == transcript.late


def _windows(transcript: Transcript) -> tuple[dict[int, list[int]], int]:
    """Values by the start of their window, microseconds, and how many pairs of a row and a window were late."""
    values: dict[int, list[int]] = defaultdict(list)
    late = 0
    for step in range(STEPS):
        closed_until = transcript.closed_until(step) * SECOND
        for second, value in transcript.rows.get(step, []):
            for start in windows_containing(transcript.specification, round(second * SECOND)):
                if start + transcript.specification.size_microseconds <= closed_until:
                    late += 1
                else:
                    values[start].append(value)
    return values, late
