"""CPU time of this process, of the Java process below it, and of Spark's Python workers."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from streamshed_bench.runs.process_tree import JAVA, process_tree

_PROCESSES = Path("/proc")


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuSeconds:
    """CPU seconds of a while.

    Args:
        java: By Java, and by short-lived programs that it has run.
        driver: By the process that runs the driver.
        workers: By the Python processes below Java.
    """

    java: float
    driver: float
    workers: float

    @property
    def total(self) -> float:
        """All of it."""
        return self.java + self.driver + self.workers

    def per(self, count: int) -> CpuSeconds:
        """Return the share of one of so many micro-batches."""
        return CpuSeconds(java=self.java / count, driver=self.driver / count, workers=self.workers / count)


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuMeter:
    """What processes had used at an instant.

    Args:
        driver: The process that runs the driver.
        seconds: By process, of the driver and all below it.
        java: Which of them are Java.
    """

    driver: int
    seconds: Mapping[int, float]
    java: frozenset[int]

    def since(self, earlier: CpuMeter) -> CpuSeconds:
        """Return what was used since; of processes that have ended meanwhile, it is not known."""
        used = {pid: seconds - earlier.seconds.get(pid, 0.0) for pid, seconds in self.seconds.items()}
        java = sum(used[pid] for pid in self.java)
        return CpuSeconds(java=java, driver=used[self.driver], workers=sum(used.values()) - java - used[self.driver])


def cpu_meter(pid: int, processes: Path = _PROCESSES) -> CpuMeter | None:
    """Return what a process and all below it have used; None where the system does not tell.

    Args:
        pid: The process in which the driver runs.
        processes: Where Linux shows processes.
    """
    if not (processes / str(pid)).is_dir():
        return None
    usages = process_tree(pid, processes)
    java = frozenset(number for number, usage in usages.items() if usage.command == JAVA)
    ticks = os.sysconf("SC_CLK_TCK")
    # What Java has run and waited for is counted with it. A daemon of PySpark counts workers that end, all at once.
    ticks_used = {number: usage.used + usage.of_ended * (number in java) for number, usage in usages.items()}
    return CpuMeter(driver=pid, seconds={number: used / ticks for number, used in ticks_used.items()}, java=java)
