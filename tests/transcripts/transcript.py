"""Transcripts: texts of rows, watermark, plan and what is to come of them; each runs in three ways that must agree.

`test_core.py` runs them without Spark, `tests/spark/trunks/drop/test_transcripts.py` in batch mode and as a stream.

A transcript is a YAML file in this folder:

    says: what it shows, in a sentence
    window: 10 seconds
    every: 5 seconds                  # left out: as long as the window
    watermark: 2 seconds              # all have this one
    max_gap: 3                        # left out: no window may be missing
    rows: {0: 1=5 3=2, 1: 12=4}       # by step, each row as second=value
    drop: {1: 20 25}                  # by step, the windows that are decided on with it, by the second they start at
    answers: {-5: 2 7, 0: 2 7}        # by the second a window starts at: how many rows, and the sum of their values
    gaps: 20 25                       # windows that are missing
    late: 3                           # pairs of a row and a window that had closed when it came

Steps are ten seconds long, and there are eight. Whatever a transcript says, time goes to the end of each step. A row is
late for a window that had ended before the watermark of the step before the last. Windows that are not listed, and
that time has passed, are answered as empty.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from streamshed.network.terms.window import WindowSpecification
from streamshed.network.words.duration import parse_duration

FOLDER = Path(__file__).parent
STEPS, STEP_SECONDS = 8, 10
SECOND = 1_000_000
TICK_SECONDS = 0.001
"""So long before the end of a step its last row comes, which tells the time."""


@dataclass(frozen=True, kw_only=True)
class Transcript:
    """What a file says; instants and windows in seconds.

    Attributes:
        name: The file's.
        window: How long windows are, as a user writes it.
        every: How often they start.
        watermark: How late rows may come.
        max_gap: How many windows in a row may be missing; None: none may.
        rows: By step, second and value of each row.
        drop: By step, starts of windows that are decided on.
        answers: By start, how many rows a window has, and the sum of their values.
        gaps: Starts of windows that are missing.
        late: Pairs of a row and a window that had closed.
    """

    name: str
    window: str
    every: str
    watermark: str
    max_gap: int | None
    rows: Mapping[int, list[tuple[float, int]]]
    drop: Mapping[int, list[float]]
    answers: Mapping[float, tuple[int, int]]
    gaps: list[float]
    late: int

    @property
    def specification(self) -> WindowSpecification:
        """Its windows, along seconds from the start of all tests' time."""
        return WindowSpecification(parse_duration(self.window), parse_duration(self.every))

    @property
    def mode(self) -> str:
        """The mode of its query."""
        return "exact" if self.max_gap is None else "subset"

    def closed_until(self, step: int) -> float:
        """The second by which windows had ended that a row of a step is late for."""
        watermark_seconds = parse_duration(self.watermark) / SECOND
        return tick(step - 2) - watermark_seconds if step > 1 else float("-inf")


def tick(step: int) -> float:
    """The second to which time has gone at the end of a step."""
    return (step + 1) * STEP_SECONDS - TICK_SECONDS


def transcripts() -> list[Transcript]:
    """All of them, by name."""
    return [_read(path) for path in sorted(FOLDER.glob("*.yaml"))]


def _read(path: Path) -> Transcript:
    told: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    unknown = told.keys() - {"says", *Transcript.__dataclass_fields__}
    if unknown:
        raise ValueError(f"{path.name}: no transcript has {', '.join(sorted(unknown))}")
    return Transcript(
        name=path.stem,
        window=told["window"],
        every=told.get("every", told["window"]),
        watermark=told["watermark"],
        max_gap=told.get("max_gap"),
        rows={step: [_row(text) for text in str(rows).split()] for step, rows in told["rows"].items()},
        drop={step: _seconds(starts) for step, starts in told.get("drop", {}).items()},
        answers={float(start): _answer(text) for start, text in told["answers"].items()},
        gaps=_seconds(told.get("gaps", "")),
        late=told.get("late", 0),
    )


def _row(text: str) -> tuple[float, int]:
    second, _, value = text.partition("=")
    return float(second), int(value)


def _answer(text: str) -> tuple[int, int]:
    count, total = str(text).split()
    return int(count), int(total)


def _seconds(text: object) -> list[float]:
    return [float(second) for second in str(text).split()]
