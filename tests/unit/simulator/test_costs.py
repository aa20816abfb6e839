import math

import numpy as np
import pytest

from streamshed.simulator.costs import RowCost, TrueCosts

ROWS = {"packets": RowCost(read_seconds=1e-6, work_seconds=4e-6)}


def seconds(costs: TrueCosts, micro_batch_id: int = 0, now: float = 0.0, seed: int = 0) -> float:
    nature = np.random.default_rng(seed)
    return costs.seconds(micro_batch_id, {"packets": 100_000}, {"packets": 0.5}, now, nature)


def test_a_micro_batch_costs_fixed_reading_and_the_work_on_what_is_kept() -> None:
    assert seconds(TrueCosts(fixed_seconds=0.2, rows=ROWS)) == pytest.approx(0.2 + 0.1 + 0.2)


def test_work_drifts_with_time_and_reading_does_not() -> None:
    costs = TrueCosts(fixed_seconds=0.2, rows=ROWS, work_factor=lambda now: 1 + now / 10)
    assert seconds(costs, now=10.0) == pytest.approx(0.2 + 0.1 + 0.4)


def test_warm_up_and_pauses_stretch_whole_micro_batches() -> None:
    costs = TrueCosts(fixed_seconds=0.2, rows=ROWS, warm_up=(4.0, 2.0), pauses={5: 10.0})
    assert [round(seconds(costs, number), 9) for number in (0, 1, 2, 5, 6)] == [2.0, 1.0, 0.5, 5.0, 0.5]


def test_noise_is_seeded_and_of_the_size_asked_for() -> None:
    costs = TrueCosts(fixed_seconds=0.2, rows=ROWS, noise_deviation=0.1)
    assert seconds(costs, seed=1) == seconds(costs, seed=1) != seconds(costs, seed=2)
    logs = [math.log(seconds(costs, seed=seed) / 0.5) for seed in range(2000)]
    assert float(np.std(logs)) == pytest.approx(0.1, rel=0.1)
