"""What SQL took in trials: where samplers go, what is shed, and what becomes of it when micro-batches say otherwise."""

import pytest

from streamshed.control.loop import ControlLoop
from streamshed.control.settings import ControlSettings
from streamshed.dashboard.explained import explained
from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import network
from streamshed.network.source.sources import folder
from streamshed.planning.load.network_load import network_load
from streamshed.statistics.guess import CHEAP_SECONDS, SLICE_SECONDS, guessed_statistics
from streamshed.statistics.learned import LearnedStatistics, learned_from_document
from streamshed.statistics.sql_cost import SqlCost
from tests.oracles.explaining import explain
from tests.unit.control.examples import PRIOR, known_of, outcome, upcoming
from tests.unit.planning.networks import rows_of

ROWS = rows_of("packets")
DEAR = ROWS.filter("aggregate(sequence(1, 1000), 0L, (s, x) -> s + x) > value")
CHEAP = ROWS.filter("abs(value) >= 0")
ASKED = network(
    DEAR.window("1 minute").agg(total="sum(value)").query("dear"),
    CHEAP.window("1 minute").by("value").agg(n="count(*)").query("cheap"),
)
COSTS = {DEAR.node.address: SqlCost(40e-6, 0.3e-6), CHEAP.node.address: SqlCost(0.0, 0.3e-6)}
TASKS = 2


def loop_of(costs: dict[str, SqlCost]) -> ControlLoop:
    loop = ControlLoop(ASKED, ControlSettings(trigger_interval_seconds=2.0, prior=PRIOR), lambda: 99.0)
    loop.take_sql_costs(costs, parallel_tasks=TASKS)
    return loop


def test_a_measured_operator_costs_what_it_took_and_another_keeps_its_guess() -> None:
    learned = LearnedStatistics().with_sql(COSTS, parallel_tasks=TASKS)
    known = learned.statistics(ASKED, guessed_statistics(ASKED))
    assert known.operators[DEAR.node.address].seconds_per_row == pytest.approx(CHEAP_SECONDS + 40e-6 / TASKS)
    assert known.operators[CHEAP.node.address].seconds_per_row == pytest.approx(CHEAP_SECONDS)
    assert all(one.is_measured for one in known.operators.values())
    assert not any(one.is_measured for one in guessed_statistics(ASKED).operators.values())


def test_keys_and_values_that_are_dear_are_the_work_of_their_query() -> None:
    query = ASKED.query("cheap")
    assert query.aggregate is not None
    learned = LearnedStatistics().with_sql({query.aggregate.asked_address: SqlCost(6e-6, 1e-6)}, parallel_tasks=TASKS)
    known = learned.statistics(ASKED, guessed_statistics(ASKED))
    assert known.queries["cheap"].seconds_per_row == pytest.approx(SLICE_SECONDS + 3e-6)
    assert known.queries["dear"] == guessed_statistics(ASKED).queries["dear"]


def test_parsing_costs_what_it_took_beside_what_else_is_done_for_every_row() -> None:
    lines = stream("lines", folder("lines", "json", schema="ts timestamp, v int"), time="ts")
    asked = network(
        lines.window("1 minute").agg(n="count(*)").query("all"),
        lines.filter("v > 3").window("1 minute").agg(n="count(*)").query("some"),
    )
    learned = LearnedStatistics().with_sql({"lines": SqlCost(9e-6, 1e-6)}, parallel_tasks=TASKS)
    known = learned.statistics(asked, guessed_statistics(asked))
    assert known.stream("lines").parse_seconds_per_row == pytest.approx(SLICE_SECONDS + 4.5e-6)


def test_queries_that_ask_the_same_share_what_it_takes() -> None:
    asked = DEAR.window("1 minute").by(digest="md5(value)").agg(n="count(*)")
    both = network(asked.query("a"), asked.query("b"))
    aggregate = both.query("a").aggregate
    assert aggregate is not None
    learned = LearnedStatistics().with_sql({aggregate.asked_address: SqlCost(6e-6, 1e-6)}, parallel_tasks=1)
    known = learned.statistics(both, guessed_statistics(both))
    assert sum(one.seconds_per_row for one in known.queries.values()) == pytest.approx(SLICE_SECONDS + 6e-6)


def test_what_sql_takes_per_row_of_its_stream_is_that_of_the_rows_that_come_to_it() -> None:
    learned = LearnedStatistics().with_sql({DEAR.node.address: SqlCost(40e-6, 1e-6, share=0.25)}, parallel_tasks=TASKS)
    assert learned.measured_seconds_per_row("packets") == pytest.approx(5e-6)
    assert learned.measured_seconds_per_row("pack") == 0.0


def test_it_is_kept_with_what_was_learned() -> None:
    learned = LearnedStatistics().with_sql(
        {DEAR.node.address: SqlCost(4e-6, 1e-6, 0.5, made_up=True)}, parallel_tasks=3
    )
    assert learned_from_document(learned.to_document()) == learned


def test_a_sampler_goes_before_the_dear_operator_which_a_guess_takes_for_cheap() -> None:
    """Both filters look alike to a guess, so nothing is to be had by a sampler of their own."""
    guessed = guessed_statistics(ASKED)
    measured = LearnedStatistics().with_sql(COSTS, parallel_tasks=TASKS).statistics(ASKED, guessed)
    rates = {}
    for name, known in (("guessed", guessed), ("measured", measured)):
        plan = explain(ASKED, known, load_factor=3.0)
        steps = {step.address: step for step in plan.steps if step.address is not None}
        rates[name] = (
            steps[DEAR.node.address].effective_sampling_rate / steps[CHEAP.node.address].effective_sampling_rate
        )
    assert rates["measured"] < 0.4 * rates["guessed"]
    assert plan.outlooks[0].bound_by == DEAR.node.address
    assert steps[DEAR.node.address].sampling_rate is not None


def test_explain_says_what_was_measured() -> None:
    cost = {DEAR.node.address: COSTS[DEAR.node.address]}
    measured = LearnedStatistics().with_sql(cost, parallel_tasks=TASKS).statistics(ASKED, guessed_statistics(ASKED))
    text = explained(explain(ASKED, measured, load_factor=3.0))
    assert f"{DEAR}  (measured)" in text
    assert f"{CHEAP}\n" in text
    assert "(measured)" not in explained(explain(ASKED, guessed_statistics(ASKED), load_factor=3.0))


def test_the_first_micro_batch_is_shed_already_where_sql_is_too_dear_for_all_of_its_rows() -> None:
    """200,000 rows of 20 µs are 4 s; by the prior they are 0.2 s."""
    load = {"packets": 200_000}
    unaware, aware = (loop_of(costs).plan(upcoming(0, load)) for costs in ({}, COSTS))
    assert not unaware.shedding
    assert aware.shedding
    assert aware.query_codes["dear"] > aware.query_codes["cheap"]


def test_it_is_known_after_a_restart() -> None:
    loop = loop_of(COSTS)
    again = ControlLoop.from_json(loop.to_json(), network=ASKED, settings=loop.settings, clock=lambda: 99.0)
    load = {"packets": 200_000}
    assert again.plan(upcoming(0, load)).query_codes == loop.plan(upcoming(0, load)).query_codes


def leveled(seconds_per_row: float) -> tuple[float, float, float]:
    """What a row is known to cost the dear operator, and all others, where micro-batches said so much of it."""
    loop = loop_of(COSTS)
    for number in range(40):
        rows = 20_000 * (1 + 2 * (number % 2))
        loop.record(outcome(number, {"packets": rows}, {}, 0.2 + rows * seconds_per_row))
    known, model = known_of(loop), loop.state.load_model
    load = network_load(ASKED, known, trigger_interval_seconds=2.0)
    per_row = load.tree.node_seconds.sum() / (2 * known.stream("packets").rows_per_second)
    dear = known.operators[DEAR.node.address].seconds_per_row
    assert per_row == pytest.approx(model.work_seconds_per_row("packets"))
    return dear, per_row - dear, model.work_seconds_per_row("packets")


def test_what_rows_take_beyond_it_is_the_work_of_others() -> None:
    dear, others, _ = leveled(60e-6)
    assert dear == pytest.approx(CHEAP_SECONDS + 20e-6)
    assert others > 20e-6


def test_it_is_believed_no_further_than_rows_take_in_all() -> None:
    dear, others, work = leveled(5e-6)
    assert dear < work < 10e-6
    assert 0 < others < dear
