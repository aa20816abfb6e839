"""Predictions while a network runs: each gap between two answers once, from what is known then."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamshed.answering.predict import running_predictions
from streamshed.answering.predict.predicted_answers import predicted_answers
from streamshed.answering.predict.predicted_query import PredictedQuery
from streamshed.answering.predict.running_predictions import RunningPredictions
from streamshed.network.terms.window import WindowSpecification
from tests.thoroughness import examples
from tests.unit.answering.sink_rows import row, table

WINDOW = WindowSpecification(10_000_000, 10_000_000)
QUERIES = (PredictedQuery("plain", WINDOW, 0), PredictedQuery("grouped", WINDOW, 1))
METHODS = ("linear", "local")
HALVES = [json.dumps({"cohorts": list(range(first, first + 8)), "of": 16}) for first in (0, 8)]

Rows = list[dict[str, Any]]


@st.composite
def micro_batches(draw: st.DrawFn) -> list[Rows]:
    """What a sink takes, micro-batch by micro-batch; groups are not there in every window."""
    windows = draw(st.integers(1, 25))
    found: list[Rows] = [[]]
    for number in range(windows):
        for query in ("plain", "grouped"):
            match draw(st.sampled_from(["answer", "answer", "gap", "half"])):
                case "gap":
                    found[-1].append(row("gap", query, number))
                case "half" if query == "grouped":
                    half = draw(st.sampled_from([0, 1]))
                    found[-1].append(row("gap", query, number, value_text=HALVES[half]))
                    found[-1] += grouped(number, ["1", "2"] if half else ["3", None])
                case _ if query == "plain":
                    found[-1] += [row("answer", query, number, aggregate=name, value=value(number)) for name in "nm"]
                case _:
                    there = draw(st.lists(st.sampled_from(["1", "2", "3", None]), unique=True))
                    found[-1] += grouped(number, there)
        if draw(st.booleans()):
            found.append([])
    return found


def grouped(number: int, keys: list[str | None]) -> Rows:
    return [row("answer", "grouped", number, key=[key], aggregate="n", value=value(number)) for key in keys]


def value(number: int) -> float:
    return 100.0 + (7 * number) % 11


def windows_of(found: pa.Table) -> list[tuple[Any, ...]]:
    return [(one["query"], one["window_start"], *one["key"], one["aggregate"]) for one in found.to_pylist()]


def run(running: RunningPredictions, batches: list[Rows]) -> list[pa.Table]:
    return [running.add(table(rows)) for rows in batches]


@examples(30)
@given(micro_batches(), st.sampled_from(METHODS))
def test_each_gap_between_two_answers_is_predicted_once(batches: list[Rows], method: str) -> None:
    told = windows_of(pa.concat_tables(run(RunningPredictions(QUERIES, method=method), batches)))
    everything = table([one for rows in batches for one in rows])
    at_the_end = []
    for query in QUERIES:
        answered = [
            one["window_start"]
            for rows in batches
            for one in rows
            if (one["query"], one["kind"]) == (query.name, "answer")
        ]
        at_the_end += [
            window
            for window in windows_of(predicted_answers(everything, query, method=method))
            if query.keys or min(answered) < window[1] < max(answered)
        ]
    assert len(told) == len(set(told))
    # Which cohorts a group is in is known better at the end, so that it may know of more gaps then.
    assert set(told) <= set(at_the_end)
    if not any(one.get("value_text") for rows in batches for one in rows):
        assert set(told) == set(at_the_end)


@examples(30)
@given(micro_batches(), st.data(), st.sampled_from(METHODS))
def test_wherever_it_restarts_it_predicts_the_same(batches: list[Rows], data: st.DataObject, method: str) -> None:
    unbroken = run(RunningPredictions(QUERIES, method=method), batches)
    place = data.draw(st.integers(0, len(batches)))
    restarted = RunningPredictions(QUERIES, method=method)
    restarted.add(table([one for rows in batches[:place] for one in rows]))
    assert run(restarted, batches[place:]) == unbroken[place:]


@examples(30)
@given(micro_batches())
def test_what_is_predicted_rests_on_what_is_known_then(batches: list[Rows]) -> None:
    plain = QUERIES[0]
    running = RunningPredictions([plain], method="local")
    for place, rows in enumerate(batches):
        found = running.add(table(rows))
        so_far = table([one for earlier in batches[: place + 1] for one in earlier])
        expected = {
            (one["window_start"], one["aggregate"]): one
            for one in predicted_answers(so_far, plain, method="local").to_pylist()
        }
        for one in found.to_pylist():
            same = expected[one["window_start"], one["aggregate"]]
            assert one["value"] == pytest.approx(same["value"])
            assert one["standard_error"] == pytest.approx(same["standard_error"], abs=1e-9)


@pytest.fixture
def kept_windows(monkeypatch: pytest.MonkeyPatch) -> int:
    kept = 20
    monkeypatch.setattr(running_predictions, "KEPT_WINDOWS", kept)
    return kept


def test_in_a_long_run_no_more_is_remembered_than_is_needed(kept_windows: int) -> None:
    running = RunningPredictions(QUERIES, method="local")
    nature = np.random.default_rng(1)
    predicted = gaps = 0
    for number in range(9 * kept_windows):
        if number % 3 == 1:
            rows = [row("gap", name, number) for name in ("plain", "grouped")]
            gaps += 3
        else:
            rows = [row("answer", "plain", number, aggregate="n", value=nature.normal(100, 5))]
            rows += grouped(number, [str(number), "always", "else"])
        predicted += len(running.add(table(rows)))
    # The last gap has an answer behind it.
    assert number % 3 == 2
    assert predicted == gaps
    remembered = [known for state in running._states for known in state.groups.values()]  # noqa: SLF001
    assert max(len(known.numbers) for known in remembered) <= 2 * kept_windows
    assert len(remembered) <= kept_windows + 3
    assert all(len(state.gaps) <= kept_windows for state in running._states)  # noqa: SLF001


def test_a_group_that_is_gone_for_long_begins_anew(kept_windows: int) -> None:
    running = RunningPredictions(QUERIES, method="local")
    running.add(table(grouped(0, ["1", "2"])))
    running.add(table([row("gap", "grouped", 1), *grouped(2 * kept_windows, ["2"])]))
    assert len(running.add(table(grouped(2 * kept_windows + 1, ["1"])))) == 0
