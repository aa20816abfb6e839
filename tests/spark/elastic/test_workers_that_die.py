"""Executors of a real cluster come, go, die and are killed with their worker, while a network runs on them.

What is asked of answers is known: every row of every window is counted once, or the answer says that it is an estimate.
"""

from __future__ import annotations

from collections import Counter

import pandas as pd

from streamshed.spark.cluster.executors import RELEASED
from streamshed.spark.cluster.loss_reasons import is_of_memory
from tests.spark.elastic.course import Course
from tests.spark.elastic.pace import MOST_WORKERS


def test_it_grows_when_load_lasts_and_sheds_until_then(course: Course) -> None:
    journal = course.journal
    asked = journal[journal.scaling_reason.isin(["overload", "rising"])]
    assert len(asked) >= 1
    assert (asked.workers_wanted > asked.workers_running + asked.workers_starting).all()
    assert journal[journal.micro_batch_id <= asked.micro_batch_id.min()].workers_running.max() == 1
    assert 2 <= course.scaled["running"] <= MOST_WORKERS
    assert journal.shedding.any()


def test_what_died_is_replaced_and_counted(course: Course) -> None:
    assert [healed["replaced"] for healed in course.healed] == [1, 2]
    assert course.journal.workers_replaced.max() == 3


def test_spark_tells_losses_in_the_words_that_are_looked_for(course: Course) -> None:
    """What was lost is told from what was released, and want of memory from other reasons."""
    reasons = list(course.released["losses"].values())
    assert sum(RELEASED in reason for reason in reasons) >= 1
    lost = [reason for reason in reasons if RELEASED not in reason]
    assert len(lost) == course.released["replaced"]
    assert [reason for reason in lost if is_of_memory(reason)] == ["Command exited with code 137"]


def test_it_begins_with_the_fewest_workers_and_never_has_more_than_the_most(course: Course) -> None:
    assert course.journal.workers_running.iloc[0] == 1
    assert course.journal.workers_running.max() <= MOST_WORKERS
    assert (course.journal["skew"] >= 1).all()


def test_without_a_master_it_goes_on_with_what_there_is_and_says_so(course: Course) -> None:
    assert course.degraded["running"] == course.grown["running"] - 1
    assert "did not take the request" in course.degraded["explanation"]


def test_a_death_is_no_reason_to_rescale(course: Course) -> None:
    journal = course.journal
    afterwards = journal[journal.micro_batch_id > course.scaled["micro_batch_id"]]
    with_master = afterwards[afterwards.micro_batch_id <= course.healed[1]["micro_batch_id"]]
    assert set(with_master.workers_wanted) == {course.scaled["running"]}
    assert not set(with_master.scaling_reason) & {"overload", "rising", "idle"}


def test_idle_workers_are_released_which_is_no_loss_and_come_back(course: Course) -> None:
    assert course.released["replaced"] == 2
    assert 2 <= course.grown["running"] <= MOST_WORKERS
    journal = course.journal[course.journal.micro_batch_id > course.healed[1]["micro_batch_id"]]
    assert "idle" in set(journal.scaling_reason)
    begun = journal[journal.micro_batch_id >= course.released["micro_batch_id"]].workers_running
    assert 1 in set(begun)


def test_no_answer_is_lost_or_given_twice(course: Course) -> None:
    places = Counter((row["window_start"].tz_localize(None), row["key"][0], row["aggregate"]) for row in course.answers)
    wanted = {(pd.Timestamp(opened), group, name) for opened, group in course.fed for name in ("n", "total")}
    assert set(places.values()) == {1}
    assert set(places) <= wanted
    # Of a group no row of which is in a sample there is no answer: that can be only where others are sampled, too.
    sampled = {row["window_start"].tz_localize(None) for row in course.answers if not row["exact"]}
    assert {place[0] for place in wanted - set(places)} <= sampled


def test_answers_are_exact_or_say_that_they_are_not(course: Course) -> None:
    exact = [row for row in course.answers if row["exact"]]
    assert exact
    for row in exact:
        count, total = course.fed[row["window_start"].tz_localize(None).to_pydatetime(), row["key"][0]]
        assert row["value"] == (count if row["aggregate"] == "n" else total)
    # Where none of the rows that were sampled is in the sample, those that were not are all that an answer is from.
    shed = [row for row in course.answers if not row["exact"]]
    assert {row["reason"] for row in shed} == {"sampled"}
    assert any(row["sampling_rate"] < 1 for row in shed)
