"""Whoever plans for a load that lasts has the same time for it: the command line, Python, the page."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from streamshed.control.explained_change import explain_change
from streamshed.control.settings import ControlSettings
from streamshed.dashboard.explained_network import explain_network
from streamshed.network.document.document import NetworkDocument, load_network
from streamshed.page.known_run import KnownRun
from streamshed.statistics.guess import guessed_statistics
from tests.unit.cli.command_line import streamshed

DOCUMENT = """
streamshed: 1
streams: {ticks: {source: {rate: {rows_per_second: 100}}, time: timestamp}}
operators:
  counted: {from: ticks, window: {size: 1 minute}, by: [value], aggregates: {n: count(*)}}
queries:
  total: {from: ticks, window: {size: 1 minute}, aggregates: {total: sum(value)}}
  most: {from: counted, window: {size: 2 minutes}, aggregates: {most: max(n)}, mode: exact, GOALS}
run: {trigger: 2 seconds, latency: 10 seconds, headroom: 0.5, larger_micro_batches: true}
"""


def budgets(file: Path) -> dict[str, float]:
    """How long a micro-batch may take, by who is asked."""
    document: NetworkDocument = load_network(file)
    asked, run = document.network, document.run
    statistics = guessed_statistics(asked.foundation)
    command = streamshed("explain", str(file), "--json")
    assert command.code == 0, command.output
    of_python = explain_network(asked, trigger=run.trigger, latency=run.latency, headroom=run.headroom)
    of_run = explain_change(asked, asked, statistics, ControlSettings.of(run))
    return {
        "streamshed explain": json.loads(command.output)["budget_seconds"],
        "network.explain": of_python.explanation.budget_seconds,
        "run.explain": of_run.before.budget_seconds,
        "page": KnownRun(document, statistics).plan(1e6).budget_seconds,
    }


# Half of the trigger, or of what is left of the goal once a row has waited for a trigger: 0.5 * (3 - 2).
@pytest.mark.parametrize(("latency", "seconds"), [("priority: 0", 1.0), ("latency: 3 seconds", 0.5)])
def test_a_lasting_load_has_the_same_time_for_all(tmp_path: Path, latency: str, seconds: float) -> None:
    (tmp_path / "network.yaml").write_text(DOCUMENT.replace("GOALS", latency))
    assert set(budgets(tmp_path / "network.yaml").values()) == {seconds}


def test_the_page_goes_by_the_goal_of_a_query(tmp_path: Path) -> None:
    file = tmp_path / "network.yaml"
    file.write_text(DOCUMENT.replace("GOALS", "latency: 3 seconds"))
    document = load_network(file)
    assert KnownRun(document, guessed_statistics(document.network.foundation)).latency_goal_seconds == 3.0
