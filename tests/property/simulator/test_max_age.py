"""After a downtime rows older than `max_age` are skipped: just their windows are gaps, and what is new comes soon."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamshed.control.loop import ControlLoop
from streamshed.control.settings import ControlSettings
from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import QueryNetwork, network
from streamshed.network.model.query import Query
from streamshed.network.run.load_prior import LoadPrior
from streamshed.network.source.sources import rate
from streamshed.planning.window_drop.track.stale import stale_runs
from streamshed.simulator.costs import RowCost, TrueCosts
from streamshed.simulator.engine import EngineSettings, SimulatedMicroBatch
from streamshed.simulator.profiles import constant
from tests.oracles.simulation import simulate
from tests.thoroughness import examples

SECOND = 1_000_000
TRIGGER = 2.0
ROWS_PER_SECOND = 10_000
TICKS = stream("ticks", rate(1), time="timestamp")
TUMBLING = TICKS.window("10 s").agg(n="count(*)").query("tumbling", mode="exact")
SLIDING = TICKS.window("20 s", every="5 s", offset="3 s").by("value").agg(n="count(*)").query("sliding", mode="exact")
NESTED = (TICKS.window("4 s").by("value").agg(n="count(*)").window("30 s", every="10 s").agg(most="max(n)")).query(
    "nested", mode="exact"
)
SAMPLED = TICKS.window("1 minute").agg(n="count(*)").query("sampled")
ASKED = network(TUMBLING, SLIDING, NESTED, SAMPLED)

Interval = tuple[int, int]


@dataclass(frozen=True)
class Downtime:
    """A run that is down for a while."""

    outage: tuple[float, float]
    age_seconds: float | None
    largest: int | None
    load: float
    network: QueryNetwork = ASKED

    def course(self, micro_batches: int) -> Sequence[SimulatedMicroBatch]:
        row_seconds = self.load / ROWS_PER_SECOND
        costs = TrueCosts(
            fixed_seconds=0.1,
            rows={"ticks": RowCost(read_seconds=0.1 * row_seconds, work_seconds=0.9 * row_seconds)},
        )
        settings = ControlSettings(
            trigger_interval_seconds=TRIGGER,
            max_age_microseconds=None if self.age_seconds is None else round(self.age_seconds * SECOND),
            prior=LoadPrior(fixed_seconds=0.1, seconds_per_row=row_seconds, read_share=0.1),
        )
        return simulate(
            ControlLoop(self.network, settings, lambda: 0.0),
            load={"ticks": constant(ROWS_PER_SECOND)},
            costs=costs,
            settings=EngineSettings(
                trigger_interval_seconds=TRIGGER, outages=[self.outage], largest_micro_batch_rows=self.largest
            ),
            micro_batches=micro_batches,
        )


def taken(course: Sequence[SimulatedMicroBatch]) -> list[Interval]:
    """Of which arrival times each micro-batch takes the rows, from plain sums of rows."""
    until, rows = [0], 0
    for done in course:
        rows += done.offered_rows["ticks"]
        seconds = rows / ROWS_PER_SECOND if done.decision.backlog_rows else done.started_at_seconds
        until.append(round(seconds * SECOND))
    return list(pairwise(until))


def overlaps(first: Interval, second: Interval) -> int:
    return max(0, min(first[1], second[1]) - max(first[0], second[0]))


def skipped(course: Sequence[SimulatedMicroBatch], query: Query) -> list[Interval]:
    """The times of rows that were taken and skipped."""
    return [
        (max(start, first), min(end, after))
        for done, (first, after) in zip(course, taken(course), strict=True)
        for start, end in done.decision.drops.stale.get(query.definition_id, ())
        if overlaps((start, end), (first, after))
    ]


def closed(course: Sequence[SimulatedMicroBatch], query: Query) -> Iterator[tuple[Interval, bool]]:
    """The rows that each closed window needs, and whether it is a gap by the plan that read the last of them."""
    window, inner = query.windows[-1], query.windows[0]
    size, slide, offset = window.size_microseconds, window.slide_microseconds, window.offset_microseconds
    reaches = inner.size_microseconds if len(query.windows) > 1 else 0
    number = 0
    for done, (_, until) in zip(course, taken(course), strict=True):
        while True:
            first, last = (start := offset + number * slide), start + size
            if reaches:  # answers are stamped with the starts of windows of 4 s
                first, last = -(-start // reaches) * reaches, (start + size - 1) // reaches * reaches + reaches
            if last > until:
                break
            runs = stale_runs(query.windows, done.decision.drops.stale.get(query.definition_id, ()))
            yield (first, last), any(low <= number <= high for low, high in runs)
            number += 1


@examples(60)
@given(
    starts=st.integers(20, 90),
    lasts=st.integers(1, 400),
    age_seconds=st.integers(6, 300),
    pieces=st.sampled_from([None, 4, 9, 40]),
    load=st.floats(0.02, 0.2),
)
def test_windows_are_gaps_iff_rows_of_theirs_are_skipped(
    starts: int, lasts: int, age_seconds: int, pieces: int | None, load: float
) -> None:
    largest = None if pieces is None else round(pieces * TRIGGER * ROWS_PER_SECOND)
    down = Downtime((starts, starts + lasts), age_seconds, largest, load)
    course = down.course(330)
    for query in (TUMBLING, SLIDING, NESTED, SAMPLED):
        gone = skipped(course, query)
        answers = list(closed(course, query))
        assert len(answers) > 3
        for needed, is_gap in answers:
            lost = sum(overlaps(needed, interval) for interval in gone)
            if lost == 0 or lost > len(course):  # instants are rounded to microseconds
                assert is_gap is (lost > 0), (query.name, needed)
    assert all(not done.decision.drops.queries for done in course)


@examples(60)
@given(
    lasts=st.integers(1, 400),
    age_seconds=st.integers(6, 300),
    pieces=st.sampled_from([None, 9, 40]),
    load=st.floats(0.02, 0.2),
)
def test_just_what_is_older_than_the_age_is_skipped_while_there_is_a_backlog(
    lasts: int, age_seconds: int, pieces: int | None, load: float
) -> None:
    largest = None if pieces is None else round(pieces * TRIGGER * ROWS_PER_SECOND)
    course = Downtime((50, 50 + lasts), age_seconds, largest, load).course(330)
    for done, (first, after) in zip(course, taken(course), strict=True):
        oldest = round((done.started_at_seconds - age_seconds) * SECOND)
        intervals = done.decision.drops.stale.get(TUMBLING.definition_id, ())
        gone = sum(overlaps(interval, (first, after)) for interval in intervals)
        assert gone <= max(0, oldest - first)
        assert abs(gone - max(0, min(oldest, after) - first)) <= 2
    late = [done for done in course if done.latency_seconds > 2 * TRIGGER]
    assert not late or late[-1].started_at_seconds < course[-1].started_at_seconds - 60
    assert not course[-1].decision.drops.stale
    assert course[-1].decision.query_codes == dict.fromkeys(course[-1].decision.query_codes, 0)


def test_an_hour_of_downtime_costs_an_hour_of_windows_less_five_minutes_and_a_few_micro_batches() -> None:
    hour = Downtime((100, 3700), 300, None, 0.02, network(TUMBLING))
    course = hour.course(300)
    late = [done for done in course if done.latency_seconds > 2 * TRIGGER]
    assert 1 <= len(late) <= 3
    answers = list(closed(course, TUMBLING))
    gaps = [first // (10 * SECOND) for (first, _), is_gap in answers if is_gap]
    # Read until 98 s or so; at 3,700 s what is older than 3,400 s is skipped.
    assert gaps == list(range(9, 340))
    assert len(answers) > 360
    slow = Downtime((100, 3700), None, None, 0.02, network(TUMBLING)).course(300)
    seconds = [run[done.micro_batch_id].processing_seconds for run in (slow, course) for done in late[:1]]
    assert seconds[0] > 4 * seconds[1]


@pytest.mark.parametrize("micro_batches_at_once", [None, 2, 5])
def test_under_an_overload_that_lasts_answers_are_late_by_the_age_and_a_micro_batch(
    micro_batches_at_once: int | None,
) -> None:
    """What takes 1.6 of the time, and may not be sampled."""
    largest = None if micro_batches_at_once is None else round(micro_batches_at_once * TRIGGER * ROWS_PER_SECOND)
    course = Downtime((1e9, 1e9 + 1), 30, largest, 1.6, network(TUMBLING)).course(200)[-50:]
    longest = max(done.processing_seconds for done in course)
    assert max(done.latency_seconds for done in course) < 30 + 2 * longest + TRIGGER
    skipped_rows = sum(done.decision.skipped_rows for done in course)
    assert 0.3 < skipped_rows / sum(done.offered_rows["ticks"] for done in course) < 0.5


def test_advice_skips_nothing() -> None:
    settings = ControlSettings(trigger_interval_seconds=TRIGGER, max_age_microseconds=10 * SECOND, advisory=True)
    course = simulate(
        ControlLoop(ASKED, settings, lambda: 0.0),
        load={"ticks": constant(10)},
        costs=TrueCosts(fixed_seconds=0.1, rows={"ticks": RowCost(read_seconds=0.0, work_seconds=0.001)}),
        settings=EngineSettings(trigger_interval_seconds=TRIGGER, outages=[(20, 200)]),
        micro_batches=40,
    )
    assert not any(done.decision.drops.stale or done.decision.fresh_shares for done in course)
