"""A process and all below it, as Linux shows them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

JAVA = "java"
"""The command of Spark's process."""


@dataclass(frozen=True, slots=True)
class ProcessUsage:
    """What is shown of a process.

    Args:
        command: Its program.
        parent: The process that started it.
        used: CPU that it has used, in ticks.
        of_ended: CPU of those that it started, which have ended, and for which it waited.
    """

    command: str
    parent: int
    used: int
    of_ended: int


def process_tree(pid: int, processes: Path) -> dict[int, ProcessUsage]:
    """Return a process and all below it.

    Args:
        pid: The process.
        processes: Where processes are shown.
    """
    usages = _usages(processes)
    return {number: usages[number] for number in _below(pid, usages) if number in usages}


def _usages(processes: Path) -> dict[int, ProcessUsage]:
    usages = {}
    for folder in processes.iterdir():
        if folder.name.isdigit():
            try:
                text = (folder / "stat").read_text()
            except OSError:  # it has just ended
                continue
            # The command may hold spaces and parentheses.
            before, _, after = text.rpartition(")")
            fields = after.split()
            user, system, user_of_ended, system_of_ended = map(int, fields[11:15])
            usages[int(folder.name)] = ProcessUsage(
                before.partition("(")[2], int(fields[1]), user + system, user_of_ended + system_of_ended
            )
    return usages


def _below(pid: int, usages: Mapping[int, ProcessUsage]) -> set[int]:
    members = {pid}
    while more := {number for number, usage in usages.items() if usage.parent in members} - members:
        members |= more
    return members
