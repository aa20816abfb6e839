"""Executors that come and go as a test says."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from streamshed.spark.cluster.executors import Executor


@dataclass
class ExecutorsInMemory:
    """A cluster of so many places; who is asked for starts when the test says so."""

    places: int
    obstacle: str = ""
    hears: bool = True
    answers: bool = True
    there: dict[str, Executor] = field(default_factory=dict)
    total: int = 0
    started: int = 0
    reasons: dict[str, str] = field(default_factory=dict)
    requests: list[int] = field(default_factory=list)

    def running(self) -> tuple[Executor, ...] | None:
        """Return those that run."""
        return tuple(self.there.values()) if self.answers else None

    def request(self, total: int) -> bool:
        """Remember how many are wanted."""
        self.requests.append(total)
        self.total = total if self.hears else self.total
        return self.hears

    def release(self, executor_ids: Collection[str]) -> bool:
        """Let go of some at once."""
        if self.hears:
            self.there = {known: one for known, one in self.there.items() if known not in executor_ids}
            self.reasons = dict.fromkeys(executor_ids, "Executor killed by driver.") | self.reasons
        return self.hears

    def start_missing(self) -> None:
        """Let those start that are wanted and for which there is a place."""
        while len(self.there) < min(self.total, self.places):
            self.there[str(self.started)] = Executor(str(self.started))
            self.started += 1

    def loss_reasons(self) -> dict[str, str]:
        """Return why those have ended that did, the latest first."""
        return dict(self.reasons)

    def die(self, executor_id: str, reason: str = "Command exited with code 1") -> None:
        """Lose one."""
        del self.there[executor_id]
        self.reasons = {executor_id: reason} | self.reasons
