from dataclasses import replace

import pytest

from streamshed.control.journal import JournalEntry
from streamshed.control.loop import ControlLoop
from streamshed.control.settings import ControlSettings
from streamshed.planning.tree.quantization import WHOLE
from tests.unit.control.examples import PRIOR, outcome, upcoming
from tests.unit.planning.networks import counting


def entry(*, advisory: bool = False) -> JournalEntry:
    settings = ControlSettings(trigger_interval_seconds=2.0, prior=PRIOR, advisory=advisory, policy="uniform")
    loop = ControlLoop(counting("packets", "flows"), settings, lambda: 0.0)
    rows = {"packets": 3_000_000, "flows": 1_000_000}
    decision = loop.plan(upcoming(0, rows))
    return loop.record(outcome(0, rows, dict(decision.work_shares), 1.1 * decision.expected_seconds))


def test_an_entry_compares_what_was_expected_with_what_came() -> None:
    row = entry().to_row()
    assert row["reason"] == "overload"
    assert row["processing_seconds"] == pytest.approx(1.1 * float(row["expected_seconds"] or 0))
    assert row["expectation_error"] == pytest.approx(0.1)
    assert row["offered_rows"] == row["expected_offered_rows"] == 4_000_000
    assert row["admitted_rows"] == pytest.approx(4_000_000 * float(row["sampling_rate"] or 0))
    assert row["utilization"] == pytest.approx(float(row["processing_seconds"] or 0) / 2.0)
    assert (row["shedding"], row["remedy"], row["advisory"], row["clamps"]) == (True, "shed", False, "")


def test_who_loses_only_windows_or_old_rows_sheds() -> None:
    calm = entry(advisory=True)
    assert calm.decision is not None
    of_windows = replace(calm.decision, kept_shares={"q": 0.5})
    of_old_rows = replace(calm.decision, fresh_shares={"packets": 0.9})
    for decision in (of_windows, of_old_rows):
        row = replace(calm, decision=decision).to_row()
        assert (row["shedding"], row["sampling_rate"]) == (True, 1)


def test_advice_shows_beside_what_applied() -> None:
    advised = entry(advisory=True)
    assert (advised.to_row()["shedding"], advised.to_row()["advisory"]) == (False, True)
    assert advised.outcome.sampling_rate("packets") == 1.0
    assert advised.decision is not None
    assert advised.decision.proposed_work_codes["packets"] > WHOLE


def test_rows_are_flat_and_have_the_same_columns_whatever_is_known() -> None:
    settings = ControlSettings(trigger_interval_seconds=2.0)
    unplanned = ControlLoop(counting("packets", "flows"), settings, lambda: 0.0).record(
        outcome(3, {"packets": 5, "flows": 5}, {}, 0.5)
    )
    row = entry().to_row()
    assert list(row) == list(unplanned.to_row())
    assert all(cell is None or isinstance(cell, str | int | float | bool) for cell in row.values())
