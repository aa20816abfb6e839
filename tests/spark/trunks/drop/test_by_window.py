"""Windows of several families are dropped; functions are handed only rows that a kept window needs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np
import pytest

from streamshed.network.model.query import Query
from streamshed.planning.tree.quantization import sampling_rate_of
from tests.spark.event_times import at
from tests.spark.trunks.checks import (
    test_no_gap_is_longer_than_allowed,  # noqa: F401
    test_what_is_delivered_is_exact_and_the_rest_are_gaps,  # noqa: F401
)
from tests.spark.trunks.drop import ROWS_PER_SECOND, STEP_SECONDS, STEPS
from tests.spark.trunks.outcome import Outcome
from tests.spark.trunks.scenario import Scenario, Setting, Shed
from tests.spark.trunks.watched_function import rows_handed, watched
from tests.spark.trunks.windows_of_duckdb import ExactWindows

CODE = 16
SECONDS = STEPS * STEP_SECONDS
KEPT = {"tumbling": 0.3, "sliding": 0.4, "grouped": 0.2, "largest": 0.5}


def _queries(setting: Setting) -> Iterable[Query]:
    rows = setting["events"]
    judged = rows.apply(watched(setting.folder / "handed"), columns=["id"], into="verdict", returns="bigint")
    seconds, wide = rows.window("1 second"), rows.filter("v > 50")
    return [
        seconds.agg(n="count(*)", total="sum(v)").query("tumbling", mode="subset", max_gap=4),
        wide.window("3 seconds", every="1 second").agg(n="count(*)").query("sliding", mode="subset", max_gap=4),
        rows.window("2 seconds").by(five="v % 5").agg(top="max(id)").query("grouped", mode="subset", max_gap=4),
        judged.filter("verdict % 7 = 1")
        .window("1 second")
        .agg(top="max(v)")
        .query("largest", mode="subset", max_gap=4),
        seconds.agg(n="count(*)", total="sum(v)").query("exact", mode="exact"),
        wide.window("20 seconds").agg(n="count(*)", total="sum(v)").query("sampled"),
    ]


SCENARIO = Scenario(
    queries=_queries,
    shed=lambda step: Shed(codes={"sampled": CODE}, kept_shares=KEPT if 1 <= step <= 5 else {}),
    exact={
        "sliding": ExactWindows(aggregate="n", call="count(*)", size=3, slide=1, where="v > 50"),
        "grouped": ExactWindows(aggregate="top", call="max(id)", size=2, by="v % 5"),
        "largest": ExactWindows(aggregate="top", call="max(v)", size=1, where="id % 7 = 1"),
    },
)


def test_a_query_whose_answers_another_needs_misses_nothing(outcome: Outcome) -> None:
    assert outcome.gaps("tumbling") == {}
    assert outcome.answers("tumbling", "total") == outcome.answers("exact", "total")


def test_a_query_beside_is_answered_from_a_sample_of_all_rows_those_of_dropped_windows_too(outcome: Outcome) -> None:
    """Its rows are those of `sliding`, whose windows are dropped."""
    values = np.asarray(outcome.table("events")["v"])
    truths = {"n": (values > 50).sum(), "total": values[values > 50].sum()}
    for aggregate, truth in truths.items():
        rows = [row for row in outcome.rows("sampled") if row.aggregate == aggregate and row.rows_used]
        assert len(rows) == SECONDS // 20
        assert all(row.sampling_rate == pytest.approx(sampling_rate_of(CODE)) and not row.exact for row in rows)
        estimate, error = (sum(getattr(row, name) or 0.0 for row in rows) for name in ("value", "standard_error"))
        assert abs(estimate - truth) <= 3 * error


def test_rows_that_no_kept_window_needs_do_not_go_to_functions(outcome: Outcome) -> None:
    """But the few of a micro-batch for which windows were not decided on yet; some of the killed one go twice."""
    handed, gaps = Counter(rows_handed(outcome.folder / "handed")), outcome.gaps("largest")
    needed = {number for number in range(SECONDS * ROWS_PER_SECOND) if at(number // ROWS_PER_SECOND) not in gaps}
    assert handed.keys() >= needed
    assert len(handed) <= len(needed) + 2 * ROWS_PER_SECOND


def test_the_journal_counts_gaps_and_tells_shares(outcome: Outcome) -> None:
    by_step = outcome.journal.set_index("micro_batch_id").kept_shares[outcome.micro_batch_of(3)]
    names = {name.removeprefix("by_window."): share for name, share in by_step.items() if name.startswith("by_window.")}
    assert {name: names[name] for name in SCENARIO.exact} == {name: KEPT[name] for name in SCENARIO.exact}
    gaps = [row for row in outcome.raw_answers["kind"].to_pylist() if row == "gap"]
    assert outcome.journal.gaps.sum() == len(gaps)


def test_gaps_say_why_windows_are_missing(outcome: Outcome) -> None:
    assert {row.reason for query in SCENARIO.exact for row in outcome.gaps(query).values()} == {"overload"}
