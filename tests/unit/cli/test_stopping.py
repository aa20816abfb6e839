import os
import signal

import pytest

from streamshed.cli.terminal.stopping import Stopping


def never_sleep(_seconds: float) -> None:
    return None


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_is_a_wish(number: signal.Signals) -> None:
    with Stopping(sleep=never_sleep) as stopping:
        assert not stopping.wait(1)
        os.kill(os.getpid(), number)
        assert stopping.is_asked
        assert stopping.wait(1)


def test_the_second_one_interrupts() -> None:
    with Stopping(sleep=never_sleep):
        os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)


def test_handlers_are_put_back() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with Stopping(sleep=never_sleep):
        assert signal.getsignal(signal.SIGTERM) != before
    assert signal.getsignal(signal.SIGTERM) == before


def test_a_duration_ends_by_itself() -> None:
    now = [100.0]

    def sleep(seconds: float) -> None:
        now[0] += seconds

    stopping = Stopping(duration_seconds=2.5, clock=lambda: now[0], sleep=sleep)
    assert [stopping.wait(1.0) for _ in range(3)] == [False, False, True]
    assert not stopping.is_asked
