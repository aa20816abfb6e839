"""When profiling has seen enough."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, cast

import pytest

from streamshed.cli.profile import wait_until_quiet
from streamshed.spark.hand_over import RunningDomains
from streamshed.spark.loop.finished import Finished
from streamshed.spark.loop.run_status import RunStatus
from streamshed.spark.run import Run
from streamshed.spark.supervision import Supervision


class Played:
    """A run that finishes some micro-batches of each clock whenever somebody has waited.

    Args:
        rows: By clock, of each micro-batch; the last is repeated.
        at_once: How many finish while somebody waits.
    """

    def __init__(self, rows: Mapping[str, list[int]], at_once: int = 1) -> None:
        self._rows, self._at_once = rows, at_once
        self._kept = {clock: Finished(clock) for clock in rows}
        domains = [
            SimpleNamespace(domain=SimpleNamespace(clock=clock), finished=kept) for clock, kept in self._kept.items()
        ]
        running = RunningDomains(cast(Any, domains))
        supervision = Supervision(running, lambda _: None, patience_seconds=1.0)
        self._run = Run(running, *cast(tuple[Any, Any, Any], (None, None, None)), supervision)
        self.micro_batches = 0

    def await_termination(self, timeout_seconds: float) -> bool:
        assert timeout_seconds > 0
        assert self.micro_batches < 1000, "it waits for ever"
        for _ in range(self._at_once):
            for clock, rows in self._rows.items():
                offered = rows[min(self.micro_batches, len(rows) - 1)]
                self._kept[clock].add(
                    RunStatus(
                        clock=clock,
                        micro_batch_id=self.micro_batches,
                        started_at_seconds=float(self.micro_batches),
                        offered_rows=offered,
                    )
                )
            self.micro_batches += 1
        return False

    def statuses(self) -> dict[str, RunStatus]:
        return {clock: kept.latest for clock, kept in self._kept.items()}

    def statuses_since(self, micro_batch_ids: Mapping[str, int]) -> tuple[RunStatus, ...]:
        return self._run.statuses_since(micro_batch_ids)


@pytest.mark.parametrize("order", [("a", "b"), ("b", "a")])
def test_it_goes_on_while_any_clock_has_rows(order: tuple[str, str]) -> None:
    rows = {"a": [5] * 2 + [0], "b": [5] * 20 + [0]}
    played = Played({clock: rows[clock] for clock in order})
    wait_until_quiet(cast(Run, played))
    assert played.micro_batches == 23


def test_micro_batches_that_end_between_two_looks_count() -> None:
    played = Played({"a": [5] * 6 + [0]}, at_once=3)
    wait_until_quiet(cast(Run, played))
    assert played.micro_batches == 9


def test_rows_that_come_after_a_pause_are_waited_for() -> None:
    played = Played({"a": [5, 0, 0, 5, 0, 0, 5, 0]})
    wait_until_quiet(cast(Run, played))
    assert played.micro_batches == 10
