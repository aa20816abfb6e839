"""What a micro-batch tells, in the terms of the network."""

from __future__ import annotations

import math

import pytest

from streamshed.answering.estimate.carried_rows import CarriedSums
from streamshed.answering.table.output import Output, Shape
from streamshed.network.model.network import network
from streamshed.network.terms.aggregate import AggregateKind
from streamshed.sharing.stream_work import stream_work
from streamshed.spark.loop.measuring import effective_shares, measured
from streamshed.spark.plan.plan_row import StreamPlan
from streamshed.statistics.learned import LearnedStatistics
from streamshed.statistics.measured import Measured, WindowSums
from streamshed.statistics.network_statistics import NetworkStatistics
from tests.unit.planning.networks import rows_of


def told(**plans: StreamPlan) -> Measured:
    return measured({}, plans, {}, None, (), parallel_tasks=2, event_seconds=None, state_seconds=3.0)


def test_streams_are_thinned_where_rows_belonged_to_dropped_windows_only() -> None:
    found = told(dropping=StreamPlan(row_share=0.5), calm=StreamPlan(row_share=1.0), without=StreamPlan())
    assert found.thinned == {"dropping"}


def test_what_state_takes_is_told_of_micro_batches_of_which_all_rows_were_kept() -> None:
    assert told(calm=StreamPlan(row_share=1.0), without=StreamPlan()).state_seconds == 3.0
    assert told(calm=StreamPlan(), dropping=StreamPlan(row_share=0.5)).state_seconds is None
    assert told(sampled=StreamPlan(sampling_code=9)).state_seconds is None


def test_on_how_many_rows_estimates_rest_is_the_geometric_mean_by_rows() -> None:
    """Of 100 rows kept all, and of 300 one in e² twice over; of an aggregate of which nothing was sampled, nothing."""
    shape = Shape(AggregateKind.SUM, counts_rows=False, value=None, key_notations=())
    outputs = [Output("q", "s", name, shape, definition_id=7, slot=slot) for slot, name in enumerate(("a", "b"))]
    windows = {
        ("q", "a"): WindowSums(carried=CarriedSums(100.0)) + WindowSums(carried=CarriedSums(300.0, -600.0)),
        ("q", "b"): WindowSums(rows=10.0),
    }
    learned = LearnedStatistics().updated(Measured(windows=windows), offered_rows={}, elapsed_seconds=1.0)
    assert effective_shares(learned, outputs) == {"7.0": pytest.approx(math.exp(-1.5))}
    assert effective_shares(LearnedStatistics(), outputs) == {}


SECOND = 1_000_000


@pytest.mark.parametrize(
    ("first_events", "selectivity"),
    [
        pytest.param({"packets": 0}, 0.25, id="known when the first row came"),
        pytest.param({}, 0.25 * 210 / 360, id="not known, as after a restart"),
    ],
)
def test_windows_that_rows_could_only_fall_into_a_part_of_count_as_that_part(
    first_events: dict[str, int], selectivity: float
) -> None:
    """A minute every ten seconds over the first minute of a stream: of four rows a second, one passes the filter."""
    query = rows_of("packets").filter("value > 3").window("1 minute", every="10 seconds").agg(n="count(*)").query("few")
    asked = network(query)
    work = stream_work(query.stream, asked.queries)
    starts = [(10 * number - 50) * SECOND for number in range(6)]
    rows = sum(min(60.0, 60 + start / SECOND) for start in starts)
    shape = Shape(AggregateKind.COUNT, counts_rows=True, value=None, key_notations=())
    found = measured(
        {"packets": work},
        {},
        {},
        {(query.definition_id, 0): WindowSums(windows=frozenset(starts), rows=rows)},
        (Output("few", "packets", "n", shape, definition_id=query.definition_id, slot=0),),
        parallel_tasks=2,
        event_seconds=60.0,
        first_events=first_events,
    )
    before = LearnedStatistics().updated(Measured(), offered_rows={"packets": 240}, elapsed_seconds=60.0)
    learned = before.updated(found, offered_rows={"packets": 240}, elapsed_seconds=60.0)
    told = learned.statistics(asked, NetworkStatistics()).operators[query.rows.address]
    assert told.selectivity == pytest.approx(selectivity)
