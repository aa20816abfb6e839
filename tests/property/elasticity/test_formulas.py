import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from streamshed.elasticity.deployment import initial_workers_by_time, workers_to_deploy
from streamshed.elasticity.errors import InvalidElasticityError
from streamshed.elasticity.pieces import Pieces
from streamshed.elasticity.shed_factor import EXPONENTS, ShedFactor
from streamshed.elasticity.thresholds import Thresholds
from streamshed.elasticity.utilization import by_rows_held
from streamshed.elasticity.workers import WorkerLimits

SHARES = st.floats(0.01, 0.99)
FACTORS = st.builds(ShedFactor, begin=SHARES, base=st.floats(0, 1), shape=st.sampled_from(sorted(EXPONENTS)))


@given(st.lists(st.floats(-0.5, 1.5), min_size=4, max_size=4))
def test_thresholds_are_taken_in_their_order_and_in_no_other(values: list[float]) -> None:
    release, initial, shed, add = values
    if 0 < release < initial < shed < add <= 1:
        assert Thresholds(release=release, initial=initial, shed=shed, add=add).values == tuple(values)
    else:
        with pytest.raises(InvalidElasticityError, match="0 < release < initial < shed < add <= 1"):
            Thresholds(release=release, initial=initial, shed=shed, add=add)


@given(st.floats(0.01, 0.94))
def test_half_of_what_is_shed_from_is_where_to_begin(shed: float) -> None:
    assert Thresholds(shed=shed).initial == shed / 2


@given(st.floats(0, 1e6), st.floats(1, 1e6))
def test_rows_held_are_a_share_of_those_that_can_be(rows: float, capacity: float) -> None:
    assert by_rows_held([rows, 2 * rows], capacity).tolist() == pytest.approx([rows / capacity, 2 * rows / capacity])


@pytest.mark.parametrize("capacity", [0.0, -1.0, math.inf, math.nan])
def test_a_worker_that_can_hold_nothing_is_refused(capacity: float) -> None:
    with pytest.raises(InvalidElasticityError, match="finite and above 0"):
        by_rows_held([1.0], capacity)


@given(st.floats(0, 1e4), st.floats(0, 1), st.floats(0.5, 60), SHARES)
def test_the_first_deployment_is_the_smallest_that_has_the_time(
    shared: float, fixed: float, available: float, initial: float
) -> None:
    if initial * available - fixed <= 0:
        with pytest.raises(InvalidElasticityError, match="on any number of workers"):
            initial_workers_by_time(
                shared_seconds=shared,
                fixed_seconds=fixed,
                available_seconds=available,
                initial_utilization=initial,
            )
        return
    assume(shared / (initial * available - fixed) < 1e9)
    workers = initial_workers_by_time(
        shared_seconds=shared, fixed_seconds=fixed, available_seconds=available, initial_utilization=initial
    )
    at = [(fixed + shared / count) / available for count in (workers, max(1, workers - 1))]
    assert at[0] <= initial * (1 + 1e-6)
    assert workers == 1 or at[1] > initial * (1 - 1e-6)


@given(st.floats(0, 1e3), st.floats(0, 0.7), SHARES.filter(lambda shed: shed < 0.95), st.integers(1, 500))
def test_a_run_begins_with_the_fewest_workers_on_which_load_can_double(
    shared: float, fixed: float, shed: float, partitions: int
) -> None:
    def deployed(limits: WorkerLimits) -> int:
        return workers_to_deploy(
            shared_seconds=shared,
            fixed_seconds=fixed,
            available_seconds=1.0,
            thresholds=Thresholds(shed=shed),
            limits=limits,
        )

    if fixed >= shed:
        with pytest.raises(InvalidElasticityError, match="no number of workers is enough"):
            deployed(WorkerLimits())
        return
    assume(shared / (shed - fixed) < 1e6)
    workers = deployed(WorkerLimits())
    assert fixed + 2 * shared / workers <= shed * (1 + 1e-6)
    assert workers == 1 or fixed + 2 * shared / (workers - 1) > shed * (1 - 1e-6)
    pieces, in_pieces = Pieces(partitions), deployed(WorkerLimits(partitions=partitions))
    assert pieces.useful_workers(in_pieces) == in_pieces
    assert pieces.effective_workers(in_pieces) >= min(workers, partitions) * (1 - 1e-6)


@given(FACTORS, st.floats(0, 2), st.floats(0, 2))
def test_the_busier_the_more_is_shed(factor: ShedFactor, one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert 0 <= factor.at(low) <= factor.at(high) <= 1
    assert (factor.at(low) == 0) or low >= factor.begin
    assert factor.at(1.0) == pytest.approx(1.0)
    assert factor.at(factor.begin) == pytest.approx(factor.base)


@given(SHARES, st.floats(0, 1), st.floats(0, 1))
def test_the_quadratic_factor_sheds_no_more_than_the_linear_one(begin: float, base: float, utilization: float) -> None:
    linear, quadratic = (ShedFactor(begin=begin, base=base, shape=shape).at(utilization) for shape in EXPONENTS)
    assert quadratic <= linear + 1e-12


@given(FACTORS, st.floats(0, 100))
def test_a_worker_that_sheds_is_never_saturated(factor: ShedFactor, offered: float) -> None:
    settled = factor.settled(offered)
    assert settled <= min(offered, 1.0) or settled == pytest.approx(factor.begin)
    if factor.base == 0:
        assert settled == pytest.approx(offered * (1 - factor.at(settled)), rel=1e-6, abs=1e-9)


@given(st.integers(1, 60), st.integers(1, 200))
def test_workers_are_as_fast_as_the_busiest_of_them(workers: int, partitions: int) -> None:
    assigned = np.bincount(np.arange(partitions) % workers, minlength=workers)
    assert Pieces(partitions).effective_workers(workers) == pytest.approx(partitions / assigned.max())


PIECES = st.builds(Pieces, st.none() | st.integers(1, 200), st.just(0.0) | st.floats(0.005, 1))


@given(PIECES, st.integers(1, 60))
def test_no_useful_worker_is_in_vain(pieces: Pieces, workers: int) -> None:
    useful = pieces.useful_workers(workers)
    assert useful <= workers
    assert pieces.effective_workers(useful) == pytest.approx(pieces.effective_workers(workers))
    assert useful == 1 or pieces.effective_workers(useful - 1) < pieces.effective_workers(workers) * (1 - 1e-9)


@given(st.floats(0, 300), PIECES)
def test_no_fewer_workers_are_enough(effective: float, pieces: Pieces) -> None:
    speeds = [pieces.effective_workers(count) for count in range(1, 301)]
    wanted = min(effective, max(speeds))
    fast = [count for count, speed in enumerate(speeds, start=1) if speed >= wanted * (1 - 1e-9)]
    assert pieces.enough_workers(effective) == fast[0]
