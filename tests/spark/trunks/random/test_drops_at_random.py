"""The same random queries, windows of many dropped at random, against the same queries in plain Spark."""

from __future__ import annotations

import random
from collections.abc import Iterable

from streamshed.errors import InvalidNetworkError
from streamshed.network.model.query import AnswerMode, Query
from streamshed.network.model.rows import Answers
from tests.spark.event_times import microseconds_of
from tests.spark.exactness.build import build_query
from tests.spark.exactness.comparison import first_difference, key_expected, key_given
from tests.spark.exactness.specification import QuerySpec
from tests.spark.trunks.cohorts import COHORTS, longest_run, missed_by_window
from tests.spark.trunks.outcome import Outcome
from tests.spark.trunks.random.comparable import answer_of, place_of
from tests.spark.trunks.random.native_run import NativeAnswers
from tests.spark.trunks.random.specs import FIRST_SEED, NETWORKS, ROWS, aggregate_queries, prepare, relations
from tests.spark.trunks.scenario import Scenario, Setting, Shed

MODES = (AnswerMode.SUBSET, AnswerMode.SUBSET, AnswerMode.SUBSET, AnswerMode.EXACT, AnswerMode.APPROXIMATE)
SHARES = (1.0, 0.5, 0.2, 0.05)


def _queries(setting: Setting) -> Iterable[Query]:
    known, chance = relations(setting.folder), random.Random(FIRST_SEED)
    # All rows pass, but what `exact` asks is not the same any more: it would let no window be dropped.
    streams = {name: setting[name].filter("row >= 0") for name in ROWS}
    for query in aggregate_queries():
        mode, gap = chance.choice(MODES), chance.choice((1, 2, 5, 20))
        yield _asked(query, build_query(query, streams, known), mode, gap)


def _asked(query: QuerySpec, built: Query, mode: AnswerMode, gap: int) -> Query:
    assert built.aggregate is not None
    if mode is not AnswerMode.SUBSET:
        return Answers(built.aggregate).query(query.name, mode=mode)
    try:
        return Answers(built.aggregate).query(
            query.name, mode=mode, max_gap=gap, gaps_by="group" if query.keys else "window"
        )
    except InvalidNetworkError:
        assert query.keys
        return Answers(built.aggregate).query(query.name, mode=mode, max_gap=gap)


def _shed(step: int) -> Shed:
    chance = random.Random(step)
    return Shed(kept_shares={query.name: chance.choice(SHARES) for query in aggregate_queries()})


SCENARIO = Scenario(queries=_queries, prepare=prepare, shed=_shed)


def _tolerant(outcome: Outcome) -> list[tuple[QuerySpec, Query]]:
    """The queries of which windows may be missing, as they are specified and as they are built."""
    built = {query.name.removeprefix(f"{outcome.prefix}."): query for query in outcome.network.queries}
    return [(query, built[query.name]) for query in aggregate_queries() if built[query.name].gap_windows]


def _missed(outcome: Outcome, query: QuerySpec) -> dict[int, frozenset[int]]:
    return {microseconds_of(start): told for start, told in missed_by_window(outcome, query.name).items()}


def _delivered(outcome: Outcome, query: QuerySpec) -> set[tuple[int, tuple[str | None, ...]]]:
    """Windows and groups that were answered."""
    return {(microseconds_of(row.window_start), key_given(query, row.key)) for row in outcome.rows(query.name)}


def test_every_answer_delivered_is_equal_and_every_other_window_is_a_gap(
    outcome: Outcome, native: NativeAnswers
) -> None:
    """A group that misses a window of some cohorts is checked further below."""
    differences = []
    for query in aggregate_queries():
        missed, delivered = _missed(outcome, query), _delivered(outcome, query)
        answers = [answer_of(row) for row in outcome.rows(query.name)]
        assert not {answer.window_start for answer in answers if missed.get(answer.window_start) == COHORTS}, query.name
        expected = {
            place: value
            for place, value in native[query.name].items()
            if place.window_start not in missed or (place.window_start, key_expected(query, place.key)) in delivered
        }
        comparable = [answer for answer in answers if query.keys or place_of(answer) in expected]
        difference = first_difference(query, comparable, expected)
        if difference is not None:
            differences.append(f"{query.name}: {difference}\n    {query}")
    assert not differences, "\n".join(differences[:10])


def test_groups_miss_windows_that_gaps_say_their_cohort_misses_and_no_others(
    outcome: Outcome, native: NativeAnswers
) -> None:
    """Of the cohorts that a group may belong to one is left: it missed all that the group did, and nothing else."""
    groups = 0
    for query, _ in _tolerant(outcome):
        missed, delivered = _missed(outcome, query), _delivered(outcome, query)
        cohorts: dict[tuple[str | None, ...], frozenset[int]] = {}
        for place in native[query.name]:
            told = missed.get(place.window_start, COHORTS)
            if told != COHORTS:
                key = key_expected(query, place.key)
                may_be = told if (place.window_start, key) not in delivered else COHORTS - told
                cohorts[key] = cohorts.get(key, COHORTS) & may_be
        assert all(cohorts.values()), query.name
        groups += len(cohorts)
    assert groups > 5


def test_windows_of_most_queries_that_tolerate_gaps_are_dropped_and_of_no_others(outcome: Outcome) -> None:
    tolerant = {query.name for query, _ in _tolerant(outcome)}
    dropping = {query.name for query in aggregate_queries() if outcome.gaps(query.name)}
    assert dropping <= tolerant
    assert len(dropping) > len(tolerant) / 2
    assert len(tolerant) > NETWORKS
    built = [query for query in outcome.network.queries if query.name.startswith(f"{outcome.prefix}.")]
    assert {query.mode for query in built} == set(AnswerMode)


def test_no_gap_is_longer_than_allowed(outcome: Outcome) -> None:
    for query, built in _tolerant(outcome):
        assert query.window is not None
        missed = _missed(outcome, query)
        for cohort in COHORTS:
            numbers = {start // query.window.slide for start, told in missed.items() if cohort in told}
            assert longest_run(numbers) <= built.gap_windows, query.name


def test_what_is_delivered_is_exact(outcome: Outcome) -> None:
    for row in outcome.rows():
        assert (row.exact, row.sampling_rate, row.reason) == (True, 1.0, None)
