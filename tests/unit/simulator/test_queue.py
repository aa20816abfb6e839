from hypothesis import given
from hypothesis import strategies as st

from streamshed.simulator.profiles import constant
from streamshed.simulator.queue import ArrivalQueue


@given(
    load=st.floats(0, 1000),
    cuts=st.lists(st.floats(0.001, 10), min_size=1, max_size=20),
    largest=st.none() | st.integers(1, 500),
)
def test_every_row_is_taken_once_or_still_waits(load: float, cuts: list[float], largest: int | None) -> None:
    queue = ArrivalQueue(constant(load), largest)
    now, taken = 0.0, []
    for elapsed in cuts:
        now += elapsed
        taken.append(queue.take(now))
    assert sum(taken) + queue.waiting_rows == int(constant(load).rows_before(now))
    assert largest is None or max(taken) <= largest


def test_rows_are_taken_oldest_first() -> None:
    queue = ArrivalQueue(constant(10), 15)
    assert queue.take(2.0) == 15
    assert (queue.waiting_rows, queue.oldest_seconds) == (5, 0.0)
    assert queue.take(3.0) == 15
    assert (queue.waiting_rows, queue.oldest_seconds) == (0, 3.0)


def test_nothing_arrives_backward() -> None:
    assert ArrivalQueue(constant(10)).arriving(5.0, 4.0) == 0
