"""With how many workers a run begins: what was wanted last, M for what is known, or `least`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamshed.control.first_workers import KnownWork, first_workers, known_work
from streamshed.control.loop import ControlLoop
from streamshed.control.settings import ControlSettings
from streamshed.elasticity.settings import ElasticSettings
from streamshed.elasticity.workers import WorkerLimits
from streamshed.network.run.load_prior import LoadPrior
from streamshed.statistics.network_statistics import NetworkStatistics, StreamStatistics
from tests.unit.control.examples import PRIOR, outcome, upcoming
from tests.unit.planning.networks import counting

INTERVAL = 2.0
ARRIVING = NetworkStatistics(streams={"packets": StreamStatistics(rows_per_second=1_000_000.0)})
"""Two million rows in a micro-batch: two seconds on one worker, by the prior."""


def work(*, statistics: NetworkStatistics | None = ARRIVING, prior: LoadPrior = PRIOR) -> KnownWork | None:
    control = ControlSettings(trigger_interval_seconds=INTERVAL, prior=prior, statistics=statistics)
    return known_work(ControlLoop(counting("packets"), control, lambda: 0.0).state, control)


def ran(rows: int, *, speedup: float, micro_batches: int = 40, **settings: Any) -> KnownWork | None:
    """What is known after micro-batches of so many rows on average, at a microsecond each."""
    control = ControlSettings(trigger_interval_seconds=INTERVAL, **settings)
    loop = ControlLoop(counting("packets"), control, lambda: 0.0)
    for number in range(micro_batches):
        offered = {"packets": round(rows * (0.5, 1.0, 1.5)[number % 3])}
        kept = loop.plan(replace(upcoming(number, offered), speedup=speedup)).work_shares["packets"]
        seconds = 0.2 + offered["packets"] * (0.2 + 0.8 * kept) * 1e-6 / speedup
        loop.record(replace(outcome(number, offered, {"packets": kept}, seconds), speedup=speedup))
    text = loop.to_json()
    restored = ControlLoop.from_json(text, network=counting("packets"), settings=control, clock=lambda: 0.0)
    return known_work(restored.state, control)


def test_nothing_is_known_of_a_guess() -> None:
    assert work(statistics=None) is None
    assert work(prior=LoadPrior()) is None
    assert work(statistics=NetworkStatistics(streams={"flows": StreamStatistics(rows_per_second=9.0)})) is None
    assert work(statistics=NetworkStatistics(streams={"packets": StreamStatistics(rows_per_second=0.0)})) is None
    assert ran(1_000_000, speedup=1.0, micro_batches=0) is None


def test_rows_that_are_told_cost_what_the_prior_says() -> None:
    known = work()
    assert known is not None
    assert (known.shared_seconds, known.fixed_seconds) == pytest.approx((2.0, 0.2))


@pytest.mark.parametrize("speedup", [1.0, 4.0])
@pytest.mark.parametrize("rows", [1_000_000, 6_000_000])
def test_a_checkpoint_tells_what_its_rows_take_whatever_was_shed(rows: int, speedup: float) -> None:
    """The prior has rows three times too dear; while as much is shed as does not fit, nothing tells what is fixed."""
    known = ran(rows, speedup=speedup, prior=replace(PRIOR, seconds_per_row=3e-6))
    assert known is not None
    assert known.shared_seconds == pytest.approx(rows * 1e-6, rel=0.25)


def test_a_checkpoint_tells_more_than_a_guess_did() -> None:
    known = ran(1_000_000, speedup=1.0)
    assert known is not None
    assert known.shared_seconds == pytest.approx(1.0, rel=0.1)


def test_a_micro_batch_that_caught_up_with_a_backlog_is_no_larger_load() -> None:
    """Its rows took as long to come as there was nothing running."""
    control = ControlSettings(trigger_interval_seconds=INTERVAL, prior=PRIOR)
    loop = ControlLoop(counting("packets"), control, lambda: 0.0)
    loop.plan(replace(upcoming(0, {"packets": 500_000}), now_seconds=0.0))
    loop.plan(replace(upcoming(1, {"packets": 50_000_000}), now_seconds=200.0))
    known = known_work(loop.state, control)
    assert known is not None
    assert known.shared_seconds == pytest.approx(0.5)


LIMITS = st.builds(
    lambda least, more, partitions: WorkerLimits(
        least=least, most=None if more is None else least + more, partitions=partitions
    ),
    st.integers(1, 9),
    st.none() | st.integers(0, 30),
    st.none() | st.integers(1, 40),
)
WORK = st.none() | st.builds(KnownWork, shared_seconds=st.floats(0, 1e4), fixed_seconds=st.floats(0, 4))


@given(LIMITS, st.none() | st.integers(1, 99), WORK)
def test_there_are_no_fewer_and_no_more_than_may_be(
    limits: WorkerLimits, wanted: int | None, known: KnownWork | None
) -> None:
    first = first_workers(ElasticSettings(limits=limits), wanted_before=wanted, work=known, available_seconds=INTERVAL)
    assert limits.least <= first
    assert limits.most is None or first <= limits.most
    assert limits.partitions is None or first <= max(limits.least, limits.partitions)
    if wanted is None and known is None:
        assert first == limits.least
    if wanted is not None and limits.partitions is None:
        assert first == max(limits.least, wanted if limits.most is None else min(wanted, limits.most))


def test_where_no_number_of_workers_is_enough_there_are_as_few_as_may_be() -> None:
    known = KnownWork(shared_seconds=10.0, fixed_seconds=1.9)
    elastic = ElasticSettings(limits=WorkerLimits(least=2, most=50))
    assert first_workers(elastic, wanted_before=None, work=known, available_seconds=INTERVAL) == 2


def test_who_keeps_its_workers_begins_with_the_least() -> None:
    elastic = ElasticSettings(limits=WorkerLimits(least=2, most=50), controller="fixed")
    known = KnownWork(shared_seconds=10.0, fixed_seconds=0.1)
    assert first_workers(elastic, wanted_before=7, work=known, available_seconds=INTERVAL) == 2
