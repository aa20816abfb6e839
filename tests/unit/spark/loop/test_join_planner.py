"""What the driver makes of what partitions of joins tell."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from streamshed.answering.table.shed_interval import UNSETTLED, ShedInterval
from streamshed.errors import InvalidNetworkError
from streamshed.joins.choose.directive import JoinDirective
from streamshed.joins.choose.selection import Prices
from streamshed.joins.learn.learned_prices import MicroBatchWork
from streamshed.joins.learn.partition_report import PartitionReport
from streamshed.joins.windows.yields import Yields
from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import network
from streamshed.network.model.rows import Rows
from streamshed.network.source.sources import rate
from streamshed.network.terms.join_condition import pairs_where
from streamshed.planning.tree.quantization import SMALLEST, sampling_rate_of
from streamshed.planning.tree.scalability import protected_streams
from streamshed.sharing.intake import Intake
from streamshed.spark.inexact.sampled_join_times import for_all_queries, sampled_join_times
from streamshed.spark.joins.join_reports import JoinReports, ReportKey
from streamshed.spark.loop.join_planner import JoinPlanner, refuse_what_joins_cannot
from streamshed.statistics.join_statistics import JoinStatistics

CALLS, ALERTS = (stream(name, rate(100), time="timestamp") for name in ("calls", "alerts"))
JOINED: Rows = CALLS.join(ALERTS, on="value", within=("2 s", "1 s"), basic_window="1 s")
NAME = JOINED.stream.name
ROWS = {"calls": 1000, "alerts": 500}
FULL = PartitionReport(
    work=MicroBatchWork(rows=750, reads=4, comparisons=300_000.0, results=3_000.0),
    seconds=0.5,
    expected=(100_000.0, 150_000.0, 50_000.0),
    comparisons=(100_000.0, 150_000.0, 50_000.0),
    results=(0.0, 2_900.0, 100.0),
    weight=(0.0, 2_900.0, 100.0),
    late_rows=2,
    full_rows=750.0,
    full_left_rows=500.0,
    full_stored_rows=1_000.0,
    sampling_rate=1.0,
    stored_rows=1_000,
    stored_bytes=50_000,
    basic_windows=5,
    released_rows=1,
    missed_comparisons=(0.0, 0.0, 0.0),
    forgotten_rows=0,
    forgotten_bytes=0,
    missing_times=(),
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


SAMPLED: Rows = CALLS.join(ALERTS, on="value", within=("2 s", "1 s"), mode="sample", name="sampled")


def test_a_join_that_has_to_be_whole_is_no_sample() -> None:
    whole = network(SAMPLED.query("all", mode="exact"), SAMPLED.filter("calls_value > 1").query("some"))
    (domain,) = whole.time_domains
    with pytest.raises(InvalidNetworkError, match='its join is mode="sample", but "all" cannot be answered'):
        refuse_what_joins_cannot(domain, protected_streams(whole))
    refuse_what_joins_cannot(domain)


def drawing(share: float, last: JoinDirective | None = None) -> JoinDirective | None:
    streams = network(SAMPLED.query("some")).time_domains[0].streams
    joins = JoinPlanner(streams, {"sampled"}, Told().take)
    return joins.directive("sampled", share, micro_batch_id=1, rows=ROWS, last=last)


def test_rows_are_drawn_at_a_rate_no_larger_than_the_share_that_there_is_time_for() -> None:
    assert drawing(1.0) is None
    for share in (0.99, 0.5, 0.1, 1e-12):
        found = drawing(share)
        assert found is not None
        assert found.work_share == sampling_rate_of(found.sampling_code)
        assert found.work_share <= max(share, sampling_rate_of(SMALLEST))
        assert JoinDirective.from_document(found.to_document()) == found


def test_a_rate_that_is_a_little_smaller_than_could_be_stays() -> None:
    first = drawing(0.3)
    assert first is not None
    for share, is_kept in ((0.3, True), (0.35, True), (0.38, True), (0.5, False), (0.28, False)):
        found = drawing(share, first)
        assert found is not None
        assert (found.sampling_code == first.sampling_code) == is_kept
        assert found.work_share <= share


@pytest.mark.parametrize(("side", "until"), [("left", 100 + 2_000_000), ("right", 1_000_010)])
def test_a_sample_is_told_of_all_event_times_that_a_row_may_have_results_at(side: str, until: int) -> None:
    joined = CALLS.join(ALERTS, on="value", within=("2 s", "1 s"), mode="sample", sampled_side=side)
    streams = network(joined.query("some")).time_domains[0].streams
    intakes = {joined.stream.name: [Intake(0, 0, ("some",), ((7, 0), (8, 1)), frozenset())], "calls": [], "alerts": []}
    directive = JoinDirective(
        policy="greedy",
        work_share=0.1,
        yields=Yields.unknown(3),
        prices=Prices(),
        sampling=0.1,
        seed=1,
        sampling_code=32,
    )
    times = {"calls": (50, 100), "alerts": (5, 10)}
    (found,) = sampled_join_times(streams, intakes, {joined.stream.name: directive}, times)
    rates = {"7.0": 0.1, "8.1": 0.1}
    assert found == ShedInterval(stream=joined.stream.name, start=5, until=until, sampling_rates=rates)
    assert sampled_join_times(streams, intakes, {}, times) == []
    # A query that has come since then is told the same.
    before = replace(found, sampling_rates={"8.1": 0.1})
    other = replace(before, stream="calls")
    assert for_all_queries([before, other], streams, intakes) == [found, other]


HELD: Rows = CALLS.join(ALERTS, on="value", within=("2 s", "1 s"), basic_window="1 s", memory="1 MB", name="held")


def held_planner(told: Told, known: str | None = None, *, is_advisory: bool = False) -> JoinPlanner:
    (domain,) = network(HELD.query("pairs")).time_domains
    refuse_what_joins_cannot(domain, {})
    return JoinPlanner(domain.streams, {"held"}, told.take, known, partitions=2, is_advisory=is_advisory)


def directive_of(
    joins: JoinPlanner, number: int, *, share: float = 1.0, last: JoinDirective | None = None
) -> JoinDirective:
    found = joins.directive("held", share, micro_batch_id=number, rows=ROWS, last=last)
    assert found is not None
    return found


def test_a_limit_of_memory_holds_whether_there_is_time_or_not() -> None:
    told = Told()
    joins = held_planner(told)
    first = directive_of(joins, 0)
    assert first.is_full
    assert [first.memory and first.memory.of(label) for label in (3, 4)] == [500_000, 500_000]
    released = replace(FULL, released_rows=9, forgotten_rows=9, forgotten_bytes=150_000, missing_times=((5, 8),))
    told.reports = {ReportKey("held", 0, 3): FULL, ReportKey("held", 0, 4): released}
    later = directive_of(joins, 1, share=0.5)
    assert not later.is_full
    assert later.memory is not None
    assert later.memory.of(4) - later.memory.of(3) == 150_000
    assert sum(later.memory.of(label) for label in (3, 4)) <= 1_000_000
    assert JoinDirective.from_document(later.to_document()) == later


def test_partitions_that_rows_without_keys_go_to_share_the_memory() -> None:
    """Of seven partitions a grid of two by three has rows."""
    alike = CALLS.join(
        ALERTS, on=pairs_where(_same), within=("2 s", "1 s"), basic_window="1 s", memory="1200 kB", name="held"
    )
    (domain,) = network(alike.query("pairs")).time_domains
    told = Told()
    joins = JoinPlanner(domain.streams, {"held"}, told.take, partitions=7)
    first = directive_of(joins, 0)
    assert first.memory is not None
    assert (first.memory.of(3), first.memory.by_label) == (200_000, {})
    told.reports = {ReportKey("held", 0, label): replace(FULL, late_rows=1 / 2 + 1 / 3) for label in range(6)}
    later = directive_of(joins, 1)
    assert later.memory is not None
    assert later.memory.by_label == dict.fromkeys(range(6), 200_000)
    assert joins.learn(0, ROWS, elapsed_seconds=1.0)["held"].status.late_rows == 5


def _same(left: pa.Table, right: pa.Table) -> pa.ChunkedArray:
    return pc.equal(left["calls_value"], right["alerts_value"])


def test_what_is_missing_for_rows_that_were_released_is_told_at_once() -> None:
    told = Told()
    joins = held_planner(told)
    first = directive_of(joins, 0)
    assert joins.missing("held", 0, None, opened=0)[0] == ()
    gone = replace(FULL, released_rows=500, forgotten_rows=500, forgotten_bytes=1_000, missing_times=((5, 8),))
    told.reports = {ReportKey("held", 0, 3): FULL, ReportKey("held", 0, 4): gone}
    directive_of(joins, 1)
    times, share = joins.missing("held", 1, first, opened=3)
    assert times == ((5, 8),)
    assert share == pytest.approx(0.8)
    joins.learn(0, ROWS, elapsed_seconds=1.0)
    missed = replace(gone, missed_comparisons=(0.0, 150_000.0, 0.0))
    told.reports = {ReportKey("held", 1, 3): FULL, ReportKey("held", 1, 4): missed}
    status = joins.learn(1, ROWS, elapsed_seconds=1.0)["held"].status
    assert 2_500 < status.missed_results < 3_500
    assert 0.6 < joins.missing("held", 2, first, opened=3)[1] < 0.75


def test_after_a_crash_nobody_knows_what_was_released_last() -> None:
    told = Told()
    joins = held_planner(told)
    directive_of(joins, 0)
    skewed = replace(FULL, stored_bytes=600_000)
    told.reports = {ReportKey("held", 0, 3): FULL, ReportKey("held", 0, 4): skewed}
    last = directive_of(joins, 1)
    crashed = held_planner(Told())
    again = directive_of(crashed, 2, last=last)
    assert last.memory is not None
    assert again.memory == last.memory
    halved = replace(last.memory, limit=2_000_000, by_label={3: 500_000, 4: 1_500_000})
    again = directive_of(crashed, 2, last=replace(last, memory=halved))
    assert again.memory is not None
    assert again.memory.by_label == pytest.approx({3: 275_000, 4: 725_000}, rel=0.01)
    assert crashed.missing("held", 2, last, opened=7)[0] == ((7, UNSETTLED),)
    assert crashed.missing("held", 2, None, opened=7)[0] == ()
    told.reports = {ReportKey("held", 1, 3): FULL, ReportKey("held", 1, 4): skewed}
    stopped = held_planner(Told(), joins.to_json())
    assert stopped.missing("held", 2, last, opened=7)[0] == ()
    assert directive_of(stopped, 2).memory == last.memory


def test_a_limit_of_memory_is_refused_where_a_query_needs_the_whole_join() -> None:
    queries = network(HELD.query("pairs"), HELD.query("all_of_them", mode="exact"))
    (domain,) = queries.time_domains
    with pytest.raises(
        InvalidNetworkError, match=r'stream "held": with memory .* but "all_of_them" cannot be answered'
    ):
        refuse_what_joins_cannot(domain, protected_streams(queries))


def test_advice_releases_nothing() -> None:
    assert held_planner(Told(), is_advisory=True).directive("held", 1.0, micro_batch_id=0, rows=ROWS) is None


def test_weights_are_learned_beside_results_and_costs_go_by_results() -> None:
    weighed = CALLS.join(ALERTS, on="value", within=("2 s", "1 s"), basic_window="1 s", weight="calls_value", name=NAME)
    (domain,) = network(weighed.query("pairs")).time_domains
    told, plain_told = Told(), Told()
    plain = planner(plain_told)
    joins = JoinPlanner(domain.streams, {NAME}, told.take)
    heavy = replace(FULL, weight=(0.0, 2_900.0, 1e9))
    learned(told, [heavy], joins)
    learned(plain_told, [FULL], plain)
    directive, other = (one.directive(NAME, 0.4, micro_batch_id=1, rows=ROWS) for one in (joins, plain))
    assert directive is not None
    assert other is not None
    assert directive.result_yields == other.yields
    best = [one.yields.per_comparison.index(max(one.yields.per_comparison)) for one in (directive, other)]
    assert best == [2, 1]
    assert joins.work_per_row(ROWS) == plain.work_per_row(ROWS)
    assert JoinDirective.from_document(directive.to_document()) == directive
    told.reports = {ReportKey(NAME, 20, 0): heavy}
    status = joins.learn(20, ROWS, elapsed_seconds=1.0)[NAME].status
    assert (status.results, status.weight) == (3_000.0, 1e9 + 2_900.0)
    again = JoinPlanner(domain.streams, {NAME}, Told().take, joins.to_json())
    assert again.to_json() == joins.to_json()
    back = planner(Told(), joins.to_json()).directive(NAME, 0.4, micro_batch_id=1, rows=ROWS)
    directive = joins.directive(NAME, 0.4, micro_batch_id=1, rows=ROWS)
    assert back is not None
    assert directive is not None
    assert back.yields == directive.result_yields
    assert back.result_yields is None


def test_what_was_measured_of_a_join_is_told_as_statistics_that_another_run_believes() -> None:
    told = Told()
    assert planner(told).statistics(2) == {}
    joins = learned(told, [FULL, FULL])
    (known,) = joins.statistics(2).values()
    # Half of the rows of each of the two reports are of the left side, 500 of 750.
    assert (known.left_rows_per_second, known.right_rows_per_second) == pytest.approx((1000.0, 500.0))
    assert known.compared_share == pytest.approx(2 * 300_000 / (1000 * 500 * 3))
    assert known.results_per_comparison == pytest.approx(0.01, rel=0.05)
    work = FULL.work
    taken = known.overhead_seconds(rows=2 * work.rows, basic_windows=2 * work.reads)
    taken += known.fixed_seconds + known.comparing_seconds(2 * work.comparisons)
    # Two tasks at a time take half as long as one after the other.
    assert taken == pytest.approx(FULL.seconds, rel=0.05)

    streams = network(JOINED.query("pairs")).time_domains[0].streams
    believing = JoinPlanner(streams, {NAME}, told.take, believed={NAME: known}, parallel_tasks=2)
    (again,) = JoinPlanner(streams, {NAME}, told.take, joins.to_json()).statistics(2).values()
    assert again == known
    assert believing.statistics(2) == {}
    assert believing.work_per_row({**ROWS})[NAME] > planner(told).work_per_row({**ROWS})[NAME]


@pytest.mark.parametrize(("basic_window", "is_chosen"), [(None, True), ("1 s", False)])
def test_a_size_of_basic_windows_that_nobody_stated_is_chosen_while_the_join_is_shed(
    basic_window: str | None, is_chosen: bool
) -> None:
    """All lags yield the same, and reads are all that costs."""
    joined = CALLS.join(ALERTS, on="value", within=("20 s", "0 s"), basic_window=basic_window)
    told, cells = Told(), 20
    even = tuple(100.0 for _ in range(cells))
    report = replace(
        FULL,
        work=MicroBatchWork(rows=750, reads=20, comparisons=2_000.0, results=200.0),
        expected=even,
        comparisons=even,
        results=tuple(10.0 for _ in range(cells)),
        weight=tuple(10.0 for _ in range(cells)),
        missed_comparisons=(0.0,) * cells,
        basic_windows=20,
    )
    known = {joined.stream.name: JoinStatistics(seconds_per_basic_window=0.1)}
    streams = network(joined.query("pairs")).time_domains[0].streams
    joins = JoinPlanner(streams, {joined.stream.name}, told.take, believed=known)
    for number in range(8):
        told.reports = {ReportKey(joined.stream.name, number, 0): report}
        joins.learn(number, ROWS, elapsed_seconds=1.0)
    directive = joins.directive(joined.stream.name, 0.5, micro_batch_id=8, rows=ROWS)
    assert directive is not None
    assert (directive.basic_multiple > 1) == is_chosen
    again = JoinPlanner(streams, {joined.stream.name}, told.take, joins.to_json(), believed=known)
    after = again.directive(joined.stream.name, 0.5, micro_batch_id=9, rows=ROWS)
    assert after is not None
    assert after.basic_multiple == directive.basic_multiple
    assert JoinDirective.from_document(after.to_document()) == after
