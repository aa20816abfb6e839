"""What is learned of a network from what its micro-batches tell."""

import math
from dataclasses import replace

import pytest

from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import QueryNetwork, network
from streamshed.network.source.sources import rate
from streamshed.planning.load.network_load import network_load
from streamshed.statistics.fading import KEPT
from streamshed.statistics.guess import guessed_statistics
from streamshed.statistics.learned import (
    CALL_SECONDS,
    MOST_SECONDS_PER_GROUP,
    LearnedStatistics,
    learned_from_document,
)
from streamshed.statistics.measured import CallCost, GroupCounts, Measured, Passed, SpannedTime, WindowSums
from streamshed.statistics.network_statistics import (
    Moments,
    NetworkStatistics,
    OperatorStatistics,
    QueryStatistics,
    StreamStatistics,
)

SECOND = 1_000_000


def judge(values: object) -> object:
    return values


TICKS = stream("ticks", rate(10), time="timestamp")
BIG = TICKS.filter("value > 3")
JUDGED = BIG.apply(judge, columns=["value"], into="verdict", returns="bigint")
NETWORK: QueryNetwork = network(
    JUDGED.filter("verdict = 1").window("10 seconds").agg(total="sum(value)", n="count(*)").query("judged"),
    TICKS.window("10 seconds").by("value").agg(n="count(*)").query("by_value"),
)
CALL = JUDGED.node.address
TEN_SECONDS = SpannedTime("ticks", 10.0, 10.0)


def told(
    *,
    seconds_per_row: float = 5e-6,
    reached: float = 500.0,
    rate: float = 1.0,
    judged: float = 1000.0,
    mean: float = 3.0,
    number: int = 0,
) -> Measured:
    """A micro-batch of 1,000 rows in a second: how many reached the function, and what a window of 10 seconds held."""
    rows = reached * rate
    sums = replace(
        WindowSums(frozenset({number * SECOND}), judged, judged, judged * mean, judged * (mean**2 + 4.0)),
        span=TEN_SECONDS,
    )
    return Measured(
        calls={CALL: CallCost(rows, rows * seconds_per_row)},
        call_rates={CALL: rate},
        windows={("judged", "total"): sums, ("judged", "n"): sums},
        parallel_tasks=2,
        event_seconds=1.0,
    )


def after(*micro_batches: Measured) -> LearnedStatistics:
    learned = LearnedStatistics()
    for measured in micro_batches:
        learned = learned.updated(measured, offered_rows={"ticks": 1000}, elapsed_seconds=1.0)
    return learned


def test_what_functions_take_per_row_of_their_stream_is_known() -> None:
    """Half of the rows reach it, and two tasks run at a time; however many rows are kept."""
    expected = 0.5 * (5e-6 + CALL_SECONDS) / 2
    assert after(told(rate=1.0), told(rate=0.1)).measured_seconds_per_row("ticks") == pytest.approx(expected)
    assert after(told()).measured_seconds_per_row("tocks") == 0.0
    assert LearnedStatistics().measured_seconds_per_row("ticks") == 0.0
    unknown = replace(told(), thinned=frozenset({"ticks"}))
    assert after(unknown).measured_seconds_per_row("ticks") == 0.0


def known(learned: LearnedStatistics) -> tuple[float, float, Moments]:
    """Selectivity of the first filter, seconds per row of the function, moments of the sum."""
    statistics = learned.statistics(NETWORK, guessed_statistics(NETWORK))
    operators = statistics.operators
    return (
        operators[BIG.node.address].selectivity,
        operators[CALL].seconds_per_row,
        statistics.queries["judged"].moments["total"],
    )


def test_without_measurements_all_is_as_believed() -> None:
    guessed = guessed_statistics(NETWORK)
    assert LearnedStatistics().statistics(NETWORK, guessed) == guessed


@pytest.mark.parametrize("factor", [0.25, 1.0, 3.0, 10.0])
def test_an_operator_that_is_dearer_is_found_to_be(factor: float) -> None:
    _, once, _ = known(after(*[told()] * 5))
    _, seconds, _ = known(after(*[told(seconds_per_row=5e-6 * factor)] * 5))
    assert (seconds * 2 - CALL_SECONDS) / (once * 2 - CALL_SECONDS) == pytest.approx(factor)


def test_a_cost_that_changes_is_known_soon() -> None:
    before = after(*[told()] * 50)
    changed = before
    for _ in range(20):
        changed = changed.updated(told(seconds_per_row=2e-5), offered_rows={"ticks": 1000}, elapsed_seconds=1.0)
    assert known(changed)[1] == pytest.approx((2e-5 + CALL_SECONDS) / 2, rel=0.2)


@pytest.mark.parametrize("rate", [1.0, 0.5, 0.01])
def test_selectivities_are_those_of_all_rows_at_whatever_rate(rate: float) -> None:
    selectivity, _, _ = known(after(*[told(reached=300.0, rate=rate)] * 3))
    assert selectivity == pytest.approx(0.3)


def test_where_windows_are_dropped_functions_tell_what_a_row_costs_but_not_how_many_reach_them() -> None:
    """The windows that are kept tell that still."""
    thinned = replace(told(reached=30.0, seconds_per_row=2e-5), thinned=frozenset({"ticks"}))
    selectivity, seconds, _ = known(after(*[told(reached=300.0)] * 3, *[thinned] * 60))
    assert selectivity == pytest.approx(0.3)
    assert seconds == pytest.approx((2e-5 + CALL_SECONDS) / 2, rel=0.05)


@pytest.mark.parametrize("speed", [0.5, 1.0, 10.0])
def test_event_time_may_go_by_faster_than_the_clock(speed: float) -> None:
    """As where a recording is played: its windows hold the rows of so much less time."""
    learned = after(*[replace(told(reached=500.0, judged=500.0 / speed), event_seconds=speed)] * 5)
    statistics = learned.statistics(NETWORK, guessed_statistics(NETWORK))
    assert statistics.stream("ticks").event_seconds_per_second == pytest.approx(speed)
    share = learned.statistics(NETWORK, guessed_statistics(NETWORK)).operators[BIG.node.address].selectivity
    assert share == pytest.approx(0.5)
    judged = replace(statistics, streams={"ticks": replace(statistics.stream("ticks"), rows_per_second=1000.0)})
    load = network_load(NETWORK, judged, trigger_interval_seconds=1.0)
    slow = network_load(
        NETWORK,
        replace(judged, streams={"ticks": StreamStatistics(rows_per_second=1000.0)}),
        trigger_interval_seconds=1.0,
    )
    for one, at_clock in zip(load.demands, slow.demands, strict=True):
        assert one.coefficient == pytest.approx(min(1.0, at_clock.coefficient * speed))


def test_a_run_that_ends_says_nothing_of_the_speed_of_event_time() -> None:
    """The micro-batch after the last rows tells how far these were; later ones tell of the clock."""
    learned = after(*[replace(told(), event_seconds=1.0)] * 5)
    quiet = learned.updated(replace(told(), event_seconds=1.0), offered_rows={"ticks": 0}, elapsed_seconds=1.0)
    ended = quiet.updated(replace(told(), event_seconds=1e6), offered_rows={"ticks": 0}, elapsed_seconds=1.0)
    for one in (learned, quiet, ended):
        statistics = one.statistics(NETWORK, guessed_statistics(NETWORK))
        assert statistics.stream("ticks").event_seconds_per_second == pytest.approx(1.0)


@pytest.mark.parametrize("pattern", ["x.", "xx.", "x..", "xxx"])
def test_event_time_goes_on_one_micro_batch_after_its_rows(pattern: str) -> None:
    """Spark tells of a micro-batch the watermark that it started with: rows that came in it are not in that yet."""
    learned, advance = LearnedStatistics(), None
    for turn in pattern * 10:
        rows = 1000 if turn == "x" else 0
        measured = replace(told(judged=5000.0), event_seconds=advance)
        learned = learned.updated(measured, offered_rows={"ticks": rows}, elapsed_seconds=1.0)
        advance = 2.0 if turn == "x" else 0.0
    statistics = learned.statistics(NETWORK, guessed_statistics(NETWORK))
    assert learned.rows_per_event_second("ticks") == pytest.approx(500.0)
    assert statistics.stream("ticks").event_seconds_per_second == pytest.approx(2.0)
    [below] = [query.rows.address for query in NETWORK.queries if query.name == "judged"]
    reach = statistics.operators[BIG.node.address].selectivity * statistics.operators[below].selectivity
    assert reach == pytest.approx(5000 / 10 / 500.0, rel=0.01)


def test_a_long_silence_takes_nothing_from_what_is_known_of_event_time() -> None:
    learned = after(*[told()] * 5)
    silent = learned
    for _ in range(10_000):
        silent = silent.updated(Measured(event_seconds=1.0), offered_rows={"ticks": 0}, elapsed_seconds=1.0)
    assert silent.rows_per_event_second("ticks") == pytest.approx(1000.0)


def test_a_selectivity_and_a_mean_that_drift_are_followed() -> None:
    learned = after(*[told()] * 30)
    for number in range(60):
        step = min(number, 39)
        drifted = told(reached=500.0 - 10 * step, judged=1000.0 - 20 * step, mean=3.0 + 0.1 * step, number=number)
        learned = learned.updated(drifted, offered_rows={"ticks": 1000}, elapsed_seconds=1.0)
    selectivity, _, moments = known(learned)
    assert selectivity == pytest.approx(0.11, abs=0.03)
    assert moments.mean == pytest.approx(6.9, rel=0.15)


def test_moments_are_those_of_the_values() -> None:
    _, _, moments = known(after(told(mean=3.0)))
    assert [moments.mean, moments.deviation] == pytest.approx([3.0, 2.0])


def test_groups_are_counted_by_their_size() -> None:
    both = frozenset({0, 1})
    sums = WindowSums(both, 40.0, groups=GroupCounts({0: 8, 4: 2}, both))
    measured = Measured(windows={("by_value", "n"): sums, ("judged", "n"): sums})
    statistics = after(measured).statistics(NETWORK, guessed_statistics(NETWORK))
    groups = statistics.queries["by_value"].groups
    assert groups is not None
    assert dict(groups.sizes) == {1.0: pytest.approx(4.0), 16.0: pytest.approx(1.0)}
    assert statistics.queries["judged"].groups is None


def test_sampled_groups_are_believed_until_whole_windows_are_known() -> None:
    def groups_after(*measured: WindowSums) -> dict[float, float]:
        learned = after(*[Measured(windows={("by_value", "n"): sums}) for sums in measured])
        groups = learned.statistics(NETWORK, guessed_statistics(NETWORK)).queries["by_value"].groups
        assert groups is not None
        return dict(groups.sizes)

    sampled = WindowSums(sampled_groups=GroupCounts({5: 4}, frozenset({0, 1})))
    whole = WindowSums(groups=GroupCounts({0: 60, 5: 1}, frozenset({2})))
    assert groups_after(sampled, sampled) == {32.0: pytest.approx(2.0)}
    assert groups_after(sampled, whole, sampled) == {1.0: pytest.approx(60.0), 32.0: pytest.approx(1.0)}


def test_what_was_learned_survives_a_restart() -> None:
    sampled = {("by_value", "n"): WindowSums(sampled_groups=GroupCounts({5: 4}, frozenset({0, 1})))}
    learned = after(told(), told(mean=5.0, number=1), Measured(windows=sampled))
    assert learned_from_document(learned.to_document()) == learned


@pytest.mark.parametrize("squares", [math.inf, math.nan, 1.7e308])
def test_values_that_cannot_be_squared_are_not_believed(squares: float) -> None:
    sums = WindowSums(frozenset({0}), 10.0, 10.0, 1e200, squares)
    learned = after(Measured(windows={("judged", "total"): sums}))
    assert learned.statistics(NETWORK, guessed_statistics(NETWORK)).queries["judged"].moments == {}
    after_it = learned.updated(told(mean=3.0), offered_rows={"ticks": 1000}, elapsed_seconds=1.0)
    assert known(after_it)[2].mean == pytest.approx(3.0)


def test_what_is_known_of_groups_fades_as_fast_however_many_aggregates_there_are() -> None:
    def answered(count: int, aggregates: int) -> Measured:
        sums = WindowSums(frozenset({0}), 40.0, groups=GroupCounts({0: count}, frozenset({0})))
        return Measured(windows={("by_value", f"n{number}"): sums for number in range(aggregates)})

    for aggregates in (1, 3):
        learned = after(answered(100, aggregates), answered(10, aggregates))
        groups = learned.statistics(NETWORK, guessed_statistics(NETWORK)).queries["by_value"].groups
        assert groups is not None
        assert groups.groups == pytest.approx((KEPT * 100 + 10) / (KEPT + 1))


def test_statistics_are_those_of_the_network_alone() -> None:
    """What is given tells of all time domains; what each has measured is put together again."""
    guessed = guessed_statistics(NETWORK)
    given = replace(
        guessed,
        streams={**guessed.streams, "other": StreamStatistics(rows_per_second=1.0)},
        operators={**guessed.operators, "other > filter x": OperatorStatistics()},
        queries={**guessed.queries, "other": QueryStatistics()},
    )
    statistics = after(told()).statistics(NETWORK, given)
    assert set(statistics.streams) == set(guessed.streams)
    assert set(statistics.operators) == set(guessed.operators)
    assert set(statistics.queries) == set(guessed.queries)


def test_a_good_belief_is_confirmed() -> None:
    """A filter and a lookup of which only both together are measured."""
    kept = TICKS.filter("value > 3")
    both = kept.filter("value < 9")
    asked = network(both.window("10 seconds").agg(n="count(*)").query("rare"), kept.query("rows"))
    believed = NetworkStatistics(
        operators={
            kept.node.address: OperatorStatistics(selectivity=0.5, seconds_per_row=1e-6),
            both.node.address: OperatorStatistics(selectivity=0.02, seconds_per_row=1e-4),
        }
    )
    sums = WindowSums(frozenset({0}), 100.0, 100.0, span=TEN_SECONDS)
    learned = after(*[Measured(windows={("rare", "n"): sums}, event_seconds=1.0)] * 3)
    found = learned.statistics(asked, believed).operators
    assert [found[node.node.address].selectivity for node in (kept, both)] == pytest.approx([0.5, 0.02])


GROUPED = {("by_value", "n"): WindowSums(frozenset({0}), 1000.0, groups=GroupCounts({3: 100}, frozenset({0})))}
"""A window of 10 seconds, with a hundred groups of eight rows; a micro-batch meets the most of them."""


@pytest.mark.parametrize("factor", [1, 4])
def test_what_a_group_costs_is_found(factor: int) -> None:
    """Of 1,000 rows in a micro-batch, each of the hundred groups has one."""
    learned = LearnedStatistics()
    for _ in range(20):
        measured = Measured(windows=GROUPED, state_seconds=factor * 1e-3, parallel_tasks=2)
        learned = learned.updated(measured, offered_rows={"ticks": 1000}, elapsed_seconds=1.0)
    known = learned.statistics(NETWORK, guessed_statistics(NETWORK))
    assert known.queries["by_value"].seconds_per_group == pytest.approx(factor * 1e-3 / 100 / 2, rel=0.01)
    assert known.queries["judged"].seconds_per_group == 0
    assert learned_from_document(learned.to_document()) == learned


def test_no_group_takes_longer_than_groups_can() -> None:
    measured = Measured(windows=GROUPED, state_seconds=3.0, parallel_tasks=2)
    learned = LearnedStatistics().updated(measured, offered_rows={"ticks": 1000}, elapsed_seconds=1.0)
    known = learned.statistics(NETWORK, guessed_statistics(NETWORK))
    assert known.queries["by_value"].seconds_per_group == MOST_SECONDS_PER_GROUP / 2


def test_groups_of_samples_and_of_no_rows_tell_nothing_of_what_they_cost() -> None:
    learned = LearnedStatistics()
    for state_seconds, rows in ((None, 1000), (1.0, 0)):
        measured = Measured(windows=GROUPED, state_seconds=state_seconds)
        learned = learned.updated(measured, offered_rows={"ticks": rows}, elapsed_seconds=1.0)
    known = learned.statistics(NETWORK, guessed_statistics(NETWORK))
    assert known.queries["by_value"].seconds_per_group == 0


CHAINED = BIG.filter("value % 2 = 0")
CHAIN = network(CHAINED.window("10 seconds").agg(n="count(*)").query("chained"), BIG.query("rows"))


def test_operators_that_are_probed_and_rows_that_are_answers_tell_selectivities() -> None:
    learned = LearnedStatistics()
    for number in range(10):
        measured = Measured(
            windows={("chained", "n"): WindowSums(frozenset({number}), 1000.0, span=TEN_SECONDS)},
            passed={CHAINED.node.address: Passed(2560.0, TEN_SECONDS), BIG.node.address: Passed(700.0)},
            event_seconds=1.0,
        )
        learned = learned.updated(measured, offered_rows={"ticks": 1000}, elapsed_seconds=1.0)
    known = learned.statistics(CHAIN, guessed_statistics(CHAIN)).operators
    assert known[BIG.node.address].selectivity == pytest.approx(0.7)
    assert known[CHAINED.node.address].selectivity == pytest.approx(0.1 / 0.7), "what a query has taken in goes first"
    probed = replace(learned, values={})
    known = probed.statistics(CHAIN, guessed_statistics(CHAIN)).operators
    assert known[CHAINED.node.address].selectivity == pytest.approx(0.256 / 0.7)


def test_what_was_written_before_courses_were_is_read() -> None:
    document = after(told(), told()).to_document()
    old = {**{name: sums for name, sums in document.items() if name != "courses"}, "passed": {CALL: {"rows": 3.0}}}
    statistics = learned_from_document(old).statistics(NETWORK, guessed_statistics(NETWORK))
    assert statistics.operators[CALL].is_measured
