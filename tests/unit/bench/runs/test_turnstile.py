import threading

import pytest

from streamshed_bench.errors import StuckQueryError
from streamshed_bench.runs.turnstile import Turnstile

TIMEOUT = 30.0


def query(turnstile: Turnstile, passed: list[int], micro_batches: int) -> threading.Thread:
    def run() -> None:
        for number in range(micro_batches):
            passed.append(number)
            turnstile.passed()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread


def test_a_query_waits_for_its_turn() -> None:
    turnstile, passed = Turnstile(), list[int]()
    thread = query(turnstile, passed, 3)
    turnstile.first(timeout_seconds=TIMEOUT)
    assert passed == [0]
    turnstile.turn(timeout_seconds=TIMEOUT)
    assert passed == [0, 1]
    turnstile.turn(timeout_seconds=TIMEOUT)
    turnstile.open()
    thread.join(TIMEOUT)
    assert passed == [0, 1, 2]


def test_a_turn_is_measured() -> None:
    turnstile, passed = Turnstile(clock=iter([10.0, 12.5]).__next__), list[int]()
    query(turnstile, passed, 2)
    turnstile.first(timeout_seconds=TIMEOUT)
    assert turnstile.turn(timeout_seconds=TIMEOUT) == 2.5
    turnstile.open()


def test_an_open_turnstile_holds_nobody_back() -> None:
    turnstile, passed = Turnstile(), list[int]()
    turnstile.open()
    query(turnstile, passed, 100).join(TIMEOUT)
    assert len(passed) == 100


def test_a_query_that_does_not_come() -> None:
    with pytest.raises(StuckQueryError, match="did the query fail"):
        Turnstile().first(timeout_seconds=0.0)
