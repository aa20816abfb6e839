"""What the driver makes of what partitions of joins tell."""

from __future__ import annotations

from dataclasses import replace

import pytest

from streamshed.errors import InvalidNetworkError
from streamshed.joins.learned_prices import MicroBatchWork
from streamshed.joins.partition_report import PartitionReport
from streamshed.network.network import network
from streamshed.network.sources import rate
from streamshed.network.stream import Stream, stream
from streamshed.spark.join_planner import JoinPlanner, refuse_what_joins_cannot
from streamshed.spark.join_reports import JoinReports, ReportKey

CALLS, ALERTS = (stream(name, rate(100), time="timestamp") for name in ("calls", "alerts"))
JOINED: Stream = CALLS.join(ALERTS, on="value", within=("2 s", "1 s"), basic_window="1 s")
NAME = JOINED.name
ROWS = {"calls": 1000, "alerts": 500}
FULL = PartitionReport(
    work=MicroBatchWork(rows=750, reads=4, comparisons=300_000.0, results=3_000.0),
    seconds=0.5,
    expected=(100_000.0, 150_000.0, 50_000.0),
    comparisons=(100_000.0, 150_000.0, 50_000.0),
    results=(0.0, 2_900.0, 100.0),
    seen_comparisons=(100_000.0, 150_000.0, 50_000.0),
    seen_weight=(0.0, 2_900.0, 100.0),
    late_rows=2,
    stored_rows=1_000,
    stored_bytes=50_000,
    basic_windows=5,
    released_rows=1,
)
FEW = MicroBatchWork(rows=700, reads=4, comparisons=1_000.0, results=10.0)
PART = replace(FULL, comparisons=(0.0, 150_000.0, 0.0), results=(0.0, 2_900.0, 0.0))


class Told:
    """Reports that wait to be taken."""

    def __init__(self) -> None:
        self.reports: JoinReports = {}

    def take(self) -> JoinReports:
        taken, self.reports = self.reports, {}
        return taken


def planner(told: Told, known: str | None = None) -> JoinPlanner:
    streams = network(JOINED.query("pairs")).time_domains[0].streams
    return JoinPlanner(streams, {NAME}, told.take, known)


def learned(told: Told, reports: list[PartitionReport], joins: JoinPlanner | None = None) -> JoinPlanner:
    joins = joins or planner(told)
    for number in range(20):
        told.reports = {ReportKey(NAME, number, label): one for label, one in enumerate(reports)}
        joins.learn(number, ROWS, elapsed_seconds=1.0)
    return joins


def test_a_join_that_fits_is_done_fully() -> None:
    joins = learned(Told(), [FULL, FULL])
    assert joins.directive(NAME, 1.0, micro_batch_id=1, rows=ROWS) is None


def test_a_join_that_some_query_needs_fully_is_done_fully() -> None:
    streams = network(JOINED.query("pairs", mode="exact")).time_domains[0].streams
    joins = JoinPlanner(streams, frozenset(), Told().take)
    assert not joins.sheds(NAME)
    assert joins.directive(NAME, 0.1, micro_batch_id=1, rows=ROWS) is None


def test_of_others_the_cells_that_yield_most_are_chosen() -> None:
    joins = learned(Told(), [FULL, FULL])
    directive = joins.directive(NAME, 0.6, micro_batch_id=1, rows=ROWS)
    assert directive is not None
    assert (directive.policy, directive.work_share, directive.seed) == ("greedy", 0.6, 1)
    assert directive.yields.per_comparison.index(max(directive.yields.per_comparison)) == 1
    assert 0.7 < joins.delivered_share(NAME, directive, ROWS) <= 1


def test_what_a_row_takes_is_what_partitions_took_of_it() -> None:
    joins = learned(Told(), [FULL, FULL])
    assert joins.work_per_row(ROWS)[NAME] == pytest.approx(1e6 * 1.0 / 1500, rel=0.2)
    assert joins.work_per_row({})[NAME] == joins.work_per_row(ROWS)[NAME]


def test_a_burst_takes_more_of_each_row() -> None:
    """Of micro-batches of different sizes it is learned that comparisons take the time."""
    told = Told()
    joins = learned(told, [FULL, replace(FULL, work=FEW, seconds=0.002)])
    burst = {name: 5 * rows for name, rows in ROWS.items()}
    assert joins.work_per_row(burst)[NAME] > 1.2 * joins.work_per_row(ROWS)[NAME]


def test_what_came_of_it_is_told() -> None:
    told = Told()
    joins = learned(told, [FULL, FULL])
    told.reports = {ReportKey(NAME, 20, 0): FULL, ReportKey(NAME, 20, 1): PART, ReportKey(NAME, 19, 1): FULL}
    outcome = joins.learn(20, ROWS, elapsed_seconds=1.0)[NAME]
    status = outcome.status
    assert 0.5 < status.work_share < 1
    assert status.left_share == pytest.approx(0.8)
    assert status.right_share == pytest.approx(0.5)
    assert (status.comparisons, status.results) == (450_000.0, 5_900.0)
    assert (status.late_rows, status.stored_rows, status.stored_bytes, status.released_rows) == (4, 2_000, 100_000, 2)
    assert outcome.work_per_row >= 1e6 * 1.0 / 1500


def test_a_micro_batch_of_which_nothing_was_told_teaches_nothing() -> None:
    joins = learned(Told(), [FULL])
    before = joins.to_json()
    assert joins.learn(21, ROWS, elapsed_seconds=1.0) == {}
    assert joins.to_json() == before


def test_what_tasks_of_the_next_micro_batch_told_is_kept_for_it() -> None:
    told = Told()
    joins = learned(told, [FULL])
    told.reports = {ReportKey(NAME, 20, 0): FULL, ReportKey(NAME, 21, 0): PART}
    assert joins.learn(20, ROWS, elapsed_seconds=1.0)[NAME].status.work_share == 1
    assert joins.learn(21, ROWS, elapsed_seconds=1.0)[NAME].status.work_share < 1


def test_what_is_known_outlives_a_restart() -> None:
    joins = learned(Told(), [FULL, FULL])
    again = planner(Told(), joins.to_json())
    assert again.to_json() == joins.to_json()
    assert again.work_per_row(ROWS) == joins.work_per_row(ROWS)


def test_settings_that_no_run_heeds_are_refused() -> None:
    joined = CALLS.join(ALERTS, on="value", within="2 s", memory="1 MB", weight="calls_value", name="weighed")
    sampled = CALLS.join(ALERTS, on="value", within="2 s", mode="sample", name="sampled")
    (domain,) = network(joined.query("a"), sampled.query("b")).time_domains
    with pytest.raises(InvalidNetworkError) as refused:
        refuse_what_joins_cannot(domain)
    assert [problem.split(" of a join")[0] for problem in refused.value.problems] == [
        'stream "sampled": mode="sample"',
        'stream "weighed": weight',
        'stream "weighed": memory',
    ]
