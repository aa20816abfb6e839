"""Each query at an effective sampling rate of its own: samples are nested, operators see what is asked for below."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable

import numpy as np
import pytest

from streamshed.network.model.query import Query
from streamshed.planning.tree.quantization import sampling_rate_of
from tests.spark.trunks.drawn_rows import DrawnRows
from tests.spark.trunks.outcome import Outcome
from tests.spark.trunks.sample import SHED_STEPS
from tests.spark.trunks.sample.estimates import Asked, check_answers
from tests.spark.trunks.sample.events import ROWS_PER_STEP, STEP_SECONDS, STEPS
from tests.spark.trunks.scenario import NOTHING_SHED, Scenario, Setting, Shed
from tests.spark.trunks.watched_function import rows_handed, watched

CODES = {"some": 16, "kept": 20, "judged": 32, "few": 40, "by_verdict": 24}
RATES = {query: sampling_rate_of(code) for query, code in CODES.items()}
JUDGED = ("judged", "few", "by_verdict")
ASKED = {
    "whole": Asked(size=1),
    "some": Asked(size=1, where=lambda rows: rows["v"] > 60),
    "judged": Asked(size=10, where=lambda rows: rows["id"] % 7 == 1),
    "by_verdict": Asked(size=20, by=lambda rows: rows["id"] % 7),
}


def _queries(setting: Setting) -> Iterable[Query]:
    rows, calls = setting["events"], {"n": "count(*)", "total": "sum(v)"}
    handed = watched(setting.folder / "handed")
    judged = rows.filter("v >= 1").apply(handed, columns=["id"], into="same", returns="bigint")
    return [
        rows.filter("v > 0").window("1 second").agg(**calls).query("whole"),
        rows.filter("v > 60").window("1 second").agg(**calls).query("some"),
        rows.filter("id % 2 = 0").query("kept"),
        judged.filter("same % 7 = 1").window("10 seconds").agg(**calls).query("judged"),
        judged.filter("same % 14 = 2").query("few"),
        judged.window("20 seconds").by(verdict="same % 7").agg(**calls).query("by_verdict"),
    ]


SCENARIO = Scenario(queries=_queries, shed=lambda step: Shed(codes=CODES) if step in SHED_STEPS else NOTHING_SHED)


def _ids(outcome: Outcome, query: str) -> set[int]:
    return {json.loads(row.value_text or "")["id"] for row in outcome.rows(query, kind="row")}


def test_a_query_that_is_not_shed_is_exact_beside_others_that_are(outcome: Outcome) -> None:
    answers = [row for row in outcome.rows("whole") if row.aggregate == "n" and row.value]
    assert len(answers) == STEPS * STEP_SECONDS
    assert all(row.exact and row.value == ROWS_PER_STEP / STEP_SECONDS for row in answers)


@pytest.mark.parametrize("query", ASKED)
def test_each_is_answered_from_the_rows_that_pass_its_rate(outcome: Outcome, rows: DrawnRows, query: str) -> None:
    check_answers(outcome, rows, query, ASKED[query])


@pytest.mark.parametrize("query", ["some", "judged", "by_verdict"])
def test_others_say_at_which_rate_they_were_sampled(outcome: Outcome, query: str) -> None:
    answers = [row for row in outcome.rows(query) if not row.exact]
    assert {row.window_start for row in answers}
    for row in answers:
        assert row.sampling_rate == pytest.approx(RATES[query])
        assert row.rows_used / row.rows_estimated == pytest.approx(RATES[query])


@pytest.mark.parametrize("query", ["some", "judged", "by_verdict"])
def test_estimates_are_of_the_whole(outcome: Outcome, rows: DrawnRows, query: str) -> None:
    taken = rows.those(ASKED[query].where(rows))
    for aggregate, values in (("n", np.ones(len(taken))), ("total", taken["v"])):
        answers = [row for row in outcome.rows(query) if row.aggregate == aggregate]
        estimated = sum(row.value or 0.0 for row in answers)
        error = math.sqrt(sum((row.standard_error or 0.0) ** 2 for row in answers))
        assert error > 0
        assert abs(estimated - values.sum()) <= 4 * error


def test_samples_are_nested(outcome: Outcome, rows: DrawnRows) -> None:
    kept, few = _ids(outcome, "kept"), _ids(outcome, "few")
    assert kept == set(rows.those(rows["id"] % 2 == 0).kept("kept")["id"])
    assert few == set(rows.those(rows["id"] % 14 == 2).kept("few")["id"])
    assert few < kept
    for ids, query, share in ((kept, "kept", 1 / 2), (few, "few", 1 / 14)):
        of_shed = [number for number in ids if number // ROWS_PER_STEP in SHED_STEPS]
        expected = len(SHED_STEPS) * ROWS_PER_STEP * share * RATES[query]
        assert abs(len(of_shed) - expected) <= 4 * math.sqrt(expected)


def test_a_dear_function_is_handed_only_what_is_asked_for_behind_it(outcome: Outcome, rows: DrawnRows) -> None:
    """Once on the way to windows, and once on that of rows that are answers themselves."""
    handed = Counter(rows_handed(outcome.folder / "handed"))
    widest = min(JUDGED, key=CODES.__getitem__)
    assert handed.keys() == set(rows.kept(widest)["id"])
    # Those of the first step were surely read only once: the kill comes later.
    assert max(handed[number] for number in range(ROWS_PER_STEP)) <= 2
