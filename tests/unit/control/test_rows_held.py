"""τ = r/W beside τ of time: workers are added before they hold more rows than they can, and kept while they do."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from streamshed.control.elastic_loop import ElasticLoop, ScalingStep
from streamshed.control.loop import ControlLoop
from streamshed.control.settings import ControlSettings
from streamshed.elasticity.controllers import controller_named
from streamshed.elasticity.errors import InvalidElasticityError
from streamshed.elasticity.settings import ElasticSettings
from streamshed.elasticity.workers import WorkerLimits, Workers
from streamshed.errors import InvalidDocumentError
from streamshed.network.document.document import parse_network
from streamshed.network.document.document_writer import network_to_document
from tests.unit.control.examples import PRIOR, outcome, upcoming
from tests.unit.planning.networks import counting

TRIGGER, CAPACITY = 2.0, 1_000
FEW = 1_000
"""Rows of a micro-batch that take next to no time."""


@dataclass
class Pool:
    """Workers that are there at once."""

    running: int
    wanted: int = 0
    changes: int = 0
    skew: float = 1.0

    def workers(self, now_seconds: float) -> Workers:
        assert now_seconds >= 0
        return Workers(running=self.running, free=64)

    def want(self, workers: int, now_seconds: float) -> None:
        assert now_seconds >= 0
        self.running = self.wanted = workers


def _course(held: list[int], *, worker_rows: int | None, running: int, controller: str) -> list[ScalingStep]:
    """Micro-batches of few rows, after each of which so many rows are held."""
    elastic = ElasticSettings(
        worker_rows=worker_rows,
        limits=WorkerLimits(most=64),
        add_after_seconds=4.0,
        release_after_seconds=20.0,
        look_ahead_seconds=20.0,
        rescale_price_seconds=0.5,
    )
    settings = ControlSettings(trigger_interval_seconds=TRIGGER, prior=PRIOR)
    loop = ElasticLoop(
        ControlLoop(counting("packets"), settings, lambda: 0.0),
        controller_named(controller, elastic),
        Pool(running),
        worker_rows=elastic.worker_rows,
    )
    steps = []
    for number, rows in enumerate(held):
        offered = {"packets": FEW}
        loop.plan(upcoming(number, offered))
        steps.append(loop.step(number))
        loop.record(replace(outcome(number, offered, {"packets": 1.0}, 0.21), state_entries=rows))
    return steps


@pytest.mark.parametrize("controller", ["predictive", "thresholds", "thresholds_on_offered"])
def test_workers_are_added_for_rows_that_do_not_fit(controller: str) -> None:
    """Four thousand rows are four workers' whole memory: at τ1 = 0.4 they take ten."""
    steps = _course([4_000] * 30, worker_rows=CAPACITY, running=2, controller=controller)
    assert steps[1].view.offered.busiest == pytest.approx(4_000 / (2 * CAPACITY))
    assert steps[1].view.admitted.busiest == pytest.approx(4_000 / (2 * CAPACITY))
    assert steps[-1].view.workers.running == 10
    by_time = _course([4_000] * 30, worker_rows=None, running=2, controller=controller)
    assert by_time[-1].view.workers.running <= 2


@pytest.mark.parametrize("controller", ["predictive", "thresholds"])
def test_no_worker_is_released_whose_rows_the_others_could_not_hold(controller: str) -> None:
    full = _course([4_000] * 60, worker_rows=CAPACITY, running=10, controller=controller)
    assert full[-1].view.workers.running == 10
    empty = _course([40] * 60, worker_rows=CAPACITY, running=10, controller=controller)
    assert empty[-1].view.workers.running < 10


def test_time_counts_where_it_asks_for_more() -> None:
    steps = _course([40] * 3, worker_rows=CAPACITY, running=2, controller="predictive")
    by_time = _course([40] * 3, worker_rows=None, running=2, controller="predictive")
    assert [step.view for step in steps] == [step.view for step in by_time]


DOCUMENT = """
streamshed: 1
streams: {ticks: {source: {rate: {rows_per_second: 10}}, time: timestamp}}
queries: {all: {from: ticks}}
run: {elastic: {worker_rows: %s}}
"""


def test_a_document_says_it_and_is_written_so() -> None:
    document = parse_network(DOCUMENT % 20_000)
    assert document.run.elastic is not None
    assert document.run.elastic.worker_rows == 20_000
    assert parse_network(network_to_document(document.network, document.run)).run == document.run
    with pytest.raises(InvalidDocumentError, match="worker_rows"):
        parse_network(DOCUMENT % 0)
    with pytest.raises(InvalidElasticityError, match="must hold a row at least"):
        ElasticSettings(worker_rows=0)
