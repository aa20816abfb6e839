"""A run that has work and no executor is given up after a while, and only then."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamshed.errors import ClusterUnavailableError
from streamshed.spark.cluster.executor_watch import ExecutorWatch

PATIENCE_SECONDS = 10.0


@dataclass
class Run:
    """A run that is stuck when a test says so."""

    is_stuck: bool = False
    is_known: bool = True
    is_explicable: bool = True
    comes_while_explaining: bool = False
    given_up: int = 0

    def __post_init__(self) -> None:
        self.watch = ExecutorWatch(self.asked, self.explained, self.end, patience_seconds=PATIENCE_SECONDS)

    def asked(self) -> bool:
        if not self.is_known:
            raise RuntimeError("Java is gone")
        return self.is_stuck

    def explained(self, seconds: float) -> str:
        if not self.is_explicable:
            raise RuntimeError("Spark tells nothing")
        self.is_stuck = not self.comes_while_explaining
        return f"no worker for {seconds:.0f} s"

    def end(self) -> None:
        assert self.watch.failure is not None, "who sees that it has ended must see why"
        self.given_up += 1


@given(st.lists(st.tuples(st.floats(0.1, 8.0), st.booleans()), max_size=40))
def test_it_is_given_up_once_it_was_stuck_for_so_long_without_a_break(course: list[tuple[float, bool]]) -> None:
    run, now, since = Run(), 0.0, None
    for seconds, is_stuck in course:
        now += seconds
        run.is_stuck = is_stuck
        since = (now if since is None else since) if is_stuck else None
        expected = since is not None and now - since >= PATIENCE_SECONDS
        assert run.watch.look(now) == expected
        if expected:
            break
    assert run.given_up == (since is not None and now - since >= PATIENCE_SECONDS)
    assert (run.watch.failure is not None) == bool(run.given_up)


def test_the_error_says_what_was_found() -> None:
    run = Run(is_stuck=True)
    for now in (0.0, 9.0, 12.0):
        run.watch.look(now)
    assert isinstance(run.watch.failure, ClusterUnavailableError)
    assert str(run.watch.failure) == "no worker for 12 s"


def test_one_that_cannot_be_explained_is_given_up_all_the_same() -> None:
    run = Run(is_stuck=True, is_explicable=False)
    for now in (0.0, 12.0):
        run.watch.look(now)
    assert run.given_up == 1
    assert "has run for 12 s, and why cannot be told: Spark tells nothing" in str(run.watch.failure)


def test_one_that_comes_at_the_last_moment_saves_it() -> None:
    run = Run(is_stuck=True, comes_while_explaining=True)
    for now in (0.0, 12.0, 13.0):
        assert not run.watch.look(now)
    assert (run.given_up, run.watch.failure) == (0, None)


def test_what_is_not_known_is_no_reason() -> None:
    """Without Spark a run fails of itself."""
    run = Run(is_stuck=True)
    run.watch.look(0.0)
    run.is_known = False
    assert not run.watch.look(20.0)
    run.is_known = True
    assert not run.watch.look(21.0)


def test_a_run_that_is_stopped_is_not_given_up() -> None:
    run = Run(is_stuck=True)
    run.watch.look(0.0)
    run.watch.close()
    assert not run.watch.look(20.0)
    assert run.watch.failure is None


def test_it_looks_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("streamshed.spark.cluster.executor_watch.LOOK_EVERY_SECONDS", 0.001)
    run = Run(is_stuck=True)
    run.watch = ExecutorWatch(run.asked, run.explained, run.end, patience_seconds=0.01)
    run.watch.start()
    thread = run.watch._thread  # noqa: SLF001 - to wait for its end
    assert thread is not None
    thread.join(60.0)
    assert run.given_up == 1
    run.watch.close()
