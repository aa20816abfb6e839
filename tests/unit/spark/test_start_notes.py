"""What a start says to who watches it."""

from __future__ import annotations

import io
import logging
import sys
from types import SimpleNamespace
from typing import Any, cast

import pytest
from rich.console import Console
from rich.file_proxy import FileProxy

from streamshed.spark.loop.run_status import RunStatus
from streamshed.spark.start_notes import StartNotes, TaskCounts, bar_text

WAITING = [SimpleNamespace(status=RunStatus(clock="time"))]
DONE = [SimpleNamespace(status=RunStatus(clock="time", micro_batch_id=0, offered_rows=500, processing_seconds=9.0))]


class Terminal(io.StringIO):
    """A text file that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def lines_of(text: str) -> list[str]:
    """The lines as a terminal shows them in the end: what follows a carriage return is written over what stood."""
    shown = []
    for line in text.split("\n"):
        cells: list[str] = []
        for part in line.split("\r"):
            cells[: len(part)] = part
        shown.append("".join(cells).rstrip())
    return shown


def test_a_bar_grows_until_the_first_micro_batch_has_finished() -> None:
    said: list[str] = []
    bar, tasks = io.StringIO(), iter([TaskCounts(0, 0), TaskCounts(3, 12), TaskCounts(12, 12)])
    notes = StartNotes(said.append, lambda: 12.0, lambda: next(tasks), bar)
    bars = []
    for _ in range(3):
        notes.look(WAITING)
        bars.append(lines_of(bar.getvalue())[-1])
    assert [bar.count("#") for bar in bars] == [0, 5, 20]
    assert "planned by Spark" in bars[0]
    assert "12 of 12 tasks" in bars[2]
    notes.look(DONE)
    notes.look(DONE)
    assert lines_of(bar.getvalue()) == [""]
    assert len(said) == 1
    assert "500 rows in 9 s" in said[0]


def test_no_bar_is_left_where_a_run_ends_before_its_first_micro_batch() -> None:
    said: list[str] = []
    bar = io.StringIO()
    notes = StartNotes(said.append, bar=bar)
    notes.look(WAITING)
    notes.look(())
    notes.look(WAITING)
    assert lines_of(bar.getvalue()) == [""]
    assert said == []


@pytest.mark.parametrize(("watches", "logs"), [(True, False), (False, False), (True, True)])
def test_it_is_drawn_for_who_watches_and_has_not_set_up_logging(
    monkeypatch: pytest.MonkeyPatch, *, watches: bool, logs: bool
) -> None:
    terminal = Terminal() if watches else io.StringIO()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(logging.getLogger(), "handlers", [logging.NullHandler()] if logs else [])
    tracker = SimpleNamespace(
        getActiveJobsIds=lambda: [1, 2],
        getJobInfo=lambda job: None if job == 2 else SimpleNamespace(stageIds=[4, 5]),
        getStageInfo=lambda stage: None if stage == 5 else SimpleNamespace(numTasks=8, numCompletedTasks=2),
    )
    spark = SimpleNamespace(sparkContext=SimpleNamespace(statusTracker=lambda: tracker))
    notes = StartNotes.of(spark)  # type: ignore[arg-type]
    notes.look(WAITING)
    assert ("2 of 8 tasks" in terminal.getvalue()) == (watches and not logs)


def test_no_bar_is_drawn_where_something_else_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    monkeypatch.setattr(sys, "stderr", terminal)
    console = Console(file=terminal, force_terminal=True)
    with console.status("starting"):
        monkeypatch.setattr(sys, "stderr", FileProxy(console, terminal))
        StartNotes.of(cast(Any, None)).look(WAITING)
    assert "micro-batch" not in terminal.getvalue()


@pytest.mark.parametrize("counts", [TaskCounts(0, 0), TaskCounts(7, 9), TaskCounts(99, 999)])
def test_the_bar_is_always_as_wide(counts: TaskCounts) -> None:
    assert len(bar_text(counts, 99.0)) == len(bar_text(TaskCounts(1, 1), 0.0))
