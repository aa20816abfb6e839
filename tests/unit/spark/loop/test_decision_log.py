"""The lines that decisions leave in the log."""

import json
import logging
from dataclasses import replace
from typing import Any

import pytest

from streamshed.dashboard.json_lines import JsonLines
from streamshed.spark.loop.decision_log import LOGGER_NAME, log_changes
from streamshed.spark.loop.run_status import RunStatus
from tests.unit.dashboard.test_metrics import SCALING

BEFORE = RunStatus(clock="time", micro_batch_id=6, reason="within_budget", explanation="1,000 rows fit")
AFTER = replace(BEFORE, micro_batch_id=7, explanation="1,001 rows fit")
SHED = replace(
    AFTER,
    reason="overload",
    explanation="5,000 rows would take 4.1 s",
    samplers={"packets": 0.25},
    kept_shares={"largest": 0.5},
    missed_goals=("tcp",),
    scaling=SCALING,
)


def logged(caplog: pytest.LogCaptureFixture, before: RunStatus, status: RunStatus) -> list[logging.LogRecord]:
    caplog.clear()
    with caplog.at_level(logging.INFO, logger=LOGGER_NAME):
        log_changes(before, status)
    return caplog.records


def test_a_decision_that_changes_nothing_leaves_no_line(caplog: pytest.LogCaptureFixture) -> None:
    assert logged(caplog, BEFORE, AFTER) == []
    assert logged(caplog, SHED, replace(SHED, micro_batch_id=8, offered_rows=9)) == []


def test_all_that_a_decision_changes_is_one_line(caplog: pytest.LogCaptureFixture) -> None:
    (record,) = logged(caplog, BEFORE, SHED)
    assert record.getMessage() == (
        "time: micro-batch 7: overload: 5,000 rows would take 4.1 s (reason within_budget → overload,"
        " sampling rate of packets 1 → 0.25, windows kept of largest 1 → 0.5, missed goals none → tcp,"
        " workers wanted None → 4)"
    )


@pytest.mark.parametrize(
    ("changed", "name", "values"),
    [
        ({"reason": "starting"}, "reason", ["within_budget", "starting"]),
        ({"samplers": {"a": 0.5}}, "sampling rate of a", [1.0, 0.5]),
        ({"kept_shares": {"q": 0.0}}, "windows kept of q", [1.0, 0.0]),
        ({"missed_goals": ("b", "a")}, "missed goals", [[], ["a", "b"]]),
        ({"scaling": SCALING}, "workers wanted", [None, 4]),
    ],
)
def test_each_change_is_in_the_line_of_json(
    caplog: pytest.LogCaptureFixture, changed: dict[str, Any], name: str, values: list[object]
) -> None:
    (record,) = logged(caplog, BEFORE, replace(AFTER, **changed))
    line = json.loads(JsonLines().format(record))
    assert (line["logger"], line["level"]) == (LOGGER_NAME, "INFO")
    assert (line["clock"], line["micro_batch_id"], line["explanation"]) == ("time", 7, "1,001 rows fit")
    assert line["changes"] == {name: values}


def test_back_to_all_rows_is_a_change(caplog: pytest.LogCaptureFixture) -> None:
    (record,) = logged(caplog, SHED, AFTER)
    assert "sampling rate of packets 0.25 → 1" in record.getMessage()


def test_nothing_is_done_where_nobody_reads_it(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger=LOGGER_NAME):
        log_changes(BEFORE, SHED)
    assert caplog.records == []
