"""Time domains that a passing fault has ended are started again from their checkpoints."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from streamshed.spark.common.failures import innermost_cause, may_pass
from streamshed.spark.domain_run import DomainRun
from streamshed.spark.hand_over import RunningDomains

LOOK_EVERY_SECONDS = 0.2
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 1.0, 15.0

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Fault:
    """A fault that is waited out.

    Attributes:
        reason: What it is.
        began_seconds: When it was seen first, on a clock that never goes back.
        micro_batch_id: The micro-batch that had finished last: once a later one has, it is over.
        attempts: How often a start was tried since.
        next_attempt_seconds: When the next one is due.
    """

    reason: str
    began_seconds: float
    micro_batch_id: int
    attempts: int = 0
    next_attempt_seconds: float = 0.0

    def tried(self, now_seconds: float) -> Fault:
        """Return it after a start was tried: the pause before the next one is twice as long, up to 15 s.

        Example:
            >>> fault = Fault(reason="no broker", began_seconds=0.0, micro_batch_id=7)
            >>> fault.tried(1.0).next_attempt_seconds, fault.tried(1.0).tried(3.0).next_attempt_seconds
            (3.0, 7.0)
        """
        attempts = self.attempts + 1
        pause = min(FIRST_PAUSE_SECONDS * 2.0**attempts, LONGEST_PAUSE_SECONDS)
        return replace(self, attempts=attempts, next_attempt_seconds=now_seconds + pause)


class Supervision:
    """Looks after the time domains of a run.

    A fault of a server elsewhere, such as a broker that does not answer, is waited out: what it ended is started again
    from its checkpoint, first after a second, then with growing pauses. It is over once a micro-batch has finished. A
    fault of the network's own is not: it would come again.

    Args:
        running: What runs.
        begin_again: Starts a time domain again from its checkpoint.
        patience_seconds: How long a fault may last.
        on_look: Called each time that it has looked, with the time domains that have not ended for good; once more,
            with none, when it ends. Once it has raised an error, it is called no more.
    """

    def __init__(
        self,
        running: RunningDomains,
        begin_again: Callable[[DomainRun], None],
        *,
        patience_seconds: float,
        on_look: Callable[[Sequence[DomainRun]], None] = lambda _domains: None,
    ) -> None:
        self._running, self._begin_again = running, begin_again
        self.changing = threading.Lock()
        """Held while time domains change: as they are started again, handed over, or stopped."""
        self._patience_seconds, self._on_look = patience_seconds, on_look
        self._faults: dict[str, Fault] = {}
        self._failures: dict[str, Exception] = {}
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to look."""
        self._thread = threading.Thread(target=self._run, name="streamshed-supervision", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Start nothing again any longer."""
        self._closed.set()

    def failure(self, domain: DomainRun) -> Exception | None:
        """Return what has ended a time domain for good; None: it runs, or will again."""
        clock = domain.domain.clock
        error = self._failures.get(clock) or domain.failure
        if error is None or clock in self._failures or self._closed.is_set() or not _may_pass(error):
            return error
        return None

    @property
    def note(self) -> str:
        """What is waited out at present; empty where nothing is."""
        return "; ".join(f"{fault.reason}: started again until that has passed" for fault in self._faults.values())

    def look(self, now_seconds: float) -> None:
        """Look once, and start again what is due.

        Args:
            now_seconds: On a clock that never goes back.
        """
        for clock, domain in self._running.by_clock.items():
            error = domain.failure
            if error is not None and clock not in self._failures and _may_pass(error):
                self._wait_out(clock, domain, error, now_seconds)
            elif clock in self._faults and domain.status.micro_batch_id > self._faults[clock].micro_batch_id:
                fault = self._faults.pop(clock)
                lasted = now_seconds - fault.began_seconds
                _log.warning("%s runs again after %.0f s and %d starts", clock, lasted, fault.attempts)

    def _wait_out(self, clock: str, domain: DomainRun, error: Exception, now_seconds: float) -> None:
        fault = self._faults.get(clock)
        if fault is None:
            reason = innermost_cause(error)
            due = now_seconds + FIRST_PAUSE_SECONDS
            latest = domain.status.micro_batch_id
            fault = Fault(reason=reason, began_seconds=now_seconds, micro_batch_id=latest, next_attempt_seconds=due)
            _log.warning("%s was stopped by a fault that may pass, and is started again: %s", clock, reason)
        self._faults[clock] = fault
        if now_seconds - fault.began_seconds > self._patience_seconds:
            self._give_up(clock, error)
        elif now_seconds >= fault.next_attempt_seconds:
            self._try(clock, domain, fault)

    def _try(self, clock: str, domain: DomainRun, fault: Fault) -> None:
        with self.changing:
            if self._closed.is_set() or self._running.by_clock[clock] is not domain:
                return
            try:
                self._begin_again(domain)
            except Exception as error:  # noqa: BLE001 - whatever it is, who waits for the run is told
                if not _may_pass(error):
                    self._give_up(clock, error)
                    return
                _log.warning("%s cannot be started again yet: %s", clock, innermost_cause(error))
        self._faults[clock] = fault.tried(time.monotonic())

    def _give_up(self, clock: str, error: Exception) -> None:
        self._faults.pop(clock, None)
        self._failures[clock] = error

    def _run(self) -> None:
        while not self._closed.wait(LOOK_EVERY_SECONDS):
            self.look(time.monotonic())
            self._tell([domain for domain in self._running.domains if self.failure(domain) is None])
        self._tell(())

    def _tell(self, domains: Sequence[DomainRun]) -> None:
        try:
            self._on_look(domains)
        except Exception:  # noqa: BLE001 - whatever it is, what runs is looked after
            _log.debug("nobody is told any more how far a start has come", exc_info=True)
            self._on_look = lambda _domains: None


def _may_pass(error: Exception) -> bool:
    """Whether what has ended a time domain, or keeps it from beginning again, may pass.

    It has run before: a broker that has just come back may not know yet a topic that it has.
    """
    return may_pass(error) or (error.__cause__ is not None and may_pass(error.__cause__))
