from streamshed.statistics.load_memory import (
    CAPACITY,
    RECENT,
    Memory,
    Observation,
    releveled,
    remembered,
)


def observation(rows: float, kept: float = 1.0) -> Observation:
    return Observation((rows,), (kept,), 0.0)


def remember(*observations: Observation) -> Memory:
    memory: Memory = ()
    for newest in observations:
        memory = remembered(memory, newest)
    return memory


def test_the_latest_are_remembered_whatever_they_are() -> None:
    memory = remember(*(observation(100.0) for _ in range(20)))
    assert [known.age for known in memory] == list(range(RECENT))[::-1]


def test_another_sampling_rate_tells_something_of_its_own() -> None:
    memory = remember(*(observation(100.0, kept) for kept in (0.1, 0.2, 0.4) for _ in range(9)))
    assert [known.shares_done[0] for known in memory[:2]] == [0.1, 0.2]


def test_memory_is_bounded() -> None:
    assert len(remember(*(observation(2.0**power) for power in range(200)))) == CAPACITY


def test_an_observation_counts_less_with_age_but_long() -> None:
    weights = [Observation((1.0,), (1.0,), 0.0, age).weight for age in (0, 1, 10, 100)]
    assert weights == sorted(weights, reverse=True)
    assert weights[0] == 1.0
    assert 0.05 < weights[3] < 0.1


def test_a_change_of_level_moves_all_but_the_latest() -> None:
    memory = releveled(remember(observation(1.0), observation(2.0), observation(3.0)), 0.5)
    assert [known.log_seconds for known in memory] == [0.5, 0.5, 0.0]
    assert releveled((), 0.5) == ()


def test_of_which_nothing_was_done_is_remembered_like_any_other() -> None:
    memory = remember(*(observation(100.0, share) for share in (0.0, 1e-9, 0.5, 0.0, 0.5, 0.0) for _ in range(RECENT)))
    assert [known.shares_done[0] for known in memory] == [0.5] + [0.0] * RECENT
