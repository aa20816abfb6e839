from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamshed.elasticity.errors import InvalidElasticityError
from streamshed.elasticity.pieces import Pieces
from streamshed.simulator.cluster import ClusterSettings, VirtualCluster, dealt, ended, piece_shares, shared_out
from streamshed.simulator.costs import RowCost, TrueCosts


def cluster(running: int = 4, most: int = 10, **settings: float) -> VirtualCluster:
    return VirtualCluster(ClusterSettings(running=running, most=most, **settings))  # type: ignore[arg-type]


def test_workers_start_late_and_come_from_the_pool() -> None:
    virtual = cluster(start_seconds=30.0)
    virtual.want(12, 5.0)
    there = virtual.workers(10.0)
    assert (there.running, there.starting, there.free) == (4, 6, 0)
    assert virtual.workers(35.0).running == 10


def test_those_that_start_are_given_up_before_those_that_run() -> None:
    virtual = cluster()
    virtual.want(8, 0.0)
    virtual.want(3, 10.0)
    there = virtual.workers(10.0)
    assert (there.running, there.starting, there.free) == (3, 0, 7)


def test_a_worker_leaves_when_its_micro_batch_is_done_and_goes_back_to_the_pool() -> None:
    virtual = cluster()
    virtual.workers(0.0)
    virtual.want(2, 0.0)
    assert virtual.seconds(fixed_seconds=0.0, shared_seconds=8.0) == 2.0
    assert virtual.workers(10.0).free == 8
    assert virtual.seconds(fixed_seconds=0.0, shared_seconds=8.0) == 4.0


def test_the_last_worker_stays() -> None:
    virtual = cluster()
    virtual.want(0, 0.0)
    assert virtual.workers(1.0).running == 1


def test_moving_state_delays_the_first_micro_batch_on_other_workers() -> None:
    virtual = cluster(move_seconds=5.0, start_seconds=10.0)
    virtual.want(8, 0.0)
    took = []
    for now in (0.0, 10.0, 20.0):
        virtual.workers(now)
        took.append(virtual.seconds(fixed_seconds=1.0, shared_seconds=8.0))
    assert took == [3.0, 7.0, 2.0]


def test_a_worker_that_comes_meanwhile_takes_what_nobody_has_begun() -> None:
    """Eight seconds of work in eight pieces; after two of them on one worker there are three."""
    virtual = cluster(running=1, partitions=8, start_seconds=2.0)
    virtual.want(3, 0.0)
    assert virtual.seconds(fixed_seconds=1.0, shared_seconds=8.0) == 1.0 + 4.0
    virtual.workers(5.0)
    assert virtual.seconds(fixed_seconds=1.0, shared_seconds=8.0) == 1.0 + 3.0


def test_a_worker_that_comes_when_all_pieces_are_taken_is_of_no_use() -> None:
    virtual = cluster(running=4, partitions=4, start_seconds=0.5)
    virtual.want(8, 0.0)
    assert virtual.seconds(fixed_seconds=0.0, shared_seconds=8.0) == 2.0


def test_workers_that_start_on_the_same_cores_delay_the_micro_batch_under_way_once() -> None:
    virtual = cluster(running=4, most=8, start_seconds=20.0, start_work_seconds=3.0)
    virtual.want(8, 0.0)
    took = []
    for now in (0.0, 10.0, 20.0):
        virtual.workers(now)
        took.append(virtual.seconds(fixed_seconds=1.0, shared_seconds=8.0))
    assert took == [6.0, 3.0, 2.0]


@given(
    st.lists(st.floats(0, 20), min_size=1, max_size=8),
    st.lists(st.floats(0.01, 5), min_size=1, max_size=20),
)
def test_whoever_comes_later_is_no_better_than_if_there_from_the_beginning(
    begins: list[float], seconds: list[float]
) -> None:
    there, pieces = np.array([0.0, *sorted(begins)]), np.array(sorted(seconds, reverse=True))
    ends, fluid = ended(there, pieces), shared_out(there, float(pieces.sum()))
    assert fluid <= ends + 1e-9
    assert float(pieces.sum()) / len(there) <= fluid + 1e-9
    assert ends <= float(pieces.sum()) + 1e-9
    assert shared_out(np.zeros(len(there)), float(pieces.sum())) == pytest.approx(float(pieces.sum()) / len(there))
    came = there[there < fluid]
    assert float((fluid - came).sum()) == pytest.approx(float(pieces.sum()))


def test_one_straggler_holds_all_up() -> None:
    virtual = cluster(running=1000, most=1000, straggler_share=0.01, straggler_factor=3.0)
    assert virtual.seconds(fixed_seconds=0.5, shared_seconds=1000.0) == 3.5
    assert virtual.skew == pytest.approx(3 / 1.02, rel=0.02)


def test_the_dead_are_counted_and_replaced() -> None:
    virtual = cluster(running=100, most=200, failures_per_worker_day=2.4, start_seconds=3600.0)
    for hour in range(1, 25):
        there = virtual.workers(hour * 3600.0)
        assert there.committed == 100
    assert 150 < virtual.failures < 330
    assert there.running < 100


@given(st.integers(1, 40), st.integers(1, 120), st.floats(0, 2))
def test_all_work_is_dealt_out(workers: int, partitions: int, skew: float) -> None:
    shares = dealt(workers, piece_shares(partitions, skew))
    assert len(shares) == workers
    assert float(shares.sum()) == pytest.approx(1.0)
    assert float(shares.max()) >= 1 / workers - 1e-9
    if skew == 0:
        assert float(shares.max()) == pytest.approx(1 / Pieces(partitions).effective_workers(workers))


@given(st.lists(st.floats(0.01, 1), min_size=1, max_size=30), st.integers(1, 12))
def test_uneven_pieces_take_as_long_as_the_largest_and_little_longer_than_that(
    seconds: list[float], workers: int
) -> None:
    """What is believed of uneven pieces is the lower bound; the upper one is Graham's, of 1969."""
    shares = np.sort(np.array(seconds) / sum(seconds))[::-1]
    largest = min(1.0, float(shares[0]))
    busiest = float(dealt(workers, shares).max())
    assert busiest >= 1 / Pieces(undivided_share=largest).effective_workers(workers) - 1e-9
    assert busiest <= 1 / workers + (1 - 1 / workers) * largest + 1e-9


def hot(**settings: float) -> VirtualCluster:
    """One partition of eight has two thirds of the work."""
    return cluster(running=4, most=16, partitions=8, partition_skew=2.0, start_seconds=0.0, **settings)


def test_input_that_is_uneven_is_cut_and_then_shared_by_all() -> None:
    virtual = hot(is_divisible=True)
    took = [virtual.seconds(fixed_seconds=0.0, shared_seconds=8.0) for _ in range(8)]
    assert took[0] == took[1] == pytest.approx(8.0 * float(piece_shares(8, 2.0)[0]))
    assert all(seconds == pytest.approx(2.0, rel=0.1) for seconds in took[2:])
    assert virtual.balance.is_cut
    assert virtual.balance.undivided_share == 0.0


def test_what_cannot_be_cut_is_known_as_a_bound() -> None:
    virtual = hot()
    for _ in range(8):
        virtual.seconds(fixed_seconds=0.0, shared_seconds=8.0)
    assert virtual.balance.undivided_share == pytest.approx(float(piece_shares(8, 2.0)[0]))


def test_what_is_fixed_is_not_shared() -> None:
    costs = TrueCosts(fixed_seconds=0.5, rows={"s": RowCost(read_seconds=1e-3, work_seconds=3e-3)}, warm_up=(2.0,))
    shared, nature = replace(costs, cluster=cluster()), np.random.default_rng(0)
    assert [shared.seconds(number, {"s": 1000}, {"s": 1.0}, 0.0, nature) for number in (0, 1)] == [3.0, 1.5]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"running": 0}, "from 1 to 10 workers can run, got 0"),
        ({"running": 1, "most": 0}, "a pool of zero"),
        ({"running": 11}, "from 1 to 10 workers can run, got 11"),
        ({"partitions": 0}, "at least one partition"),
        ({"straggler_share": 1.5}, "straggler_share"),
        ({"straggler_factor": 0.5}, "straggler_factor must be finite and at least 1"),
        ({"start_seconds": float("inf")}, "start_seconds"),
    ],
)
def test_a_cluster_that_cannot_be_is_refused(settings: dict[str, float], message: str) -> None:
    with pytest.raises(InvalidElasticityError, match=message):
        cluster(**settings)  # type: ignore[arg-type]
