"""What a run holds at an instant: memory, threads and descriptors of its processes, files and bytes on disk."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from streamshed_bench.runs.process_tree import JAVA, process_tree


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """One look at a run.

    Args:
        seconds: Since the run began.
        micro_batch_id: The micro-batch that finished last.
        amounts: By name, in the unit that the name ends with.
    """

    seconds: float
    micro_batch_id: int
    amounts: Mapping[str, float]


def held_by_processes(pid: int, processes: Path = Path("/proc")) -> dict[str, float]:
    """Return what a driver, the Java process below it and Spark's Python workers hold.

    Args:
        pid: The process in which the driver runs.
        processes: Where Linux shows processes.

    Example:
        >>> sorted(held_by_processes(os.getpid())) if Path("/proc/self").exists() else _NAMES
        ['descriptors', 'driver_megabytes', 'java_megabytes', 'threads', 'workers_megabytes']
    """
    amounts = dict.fromkeys(_NAMES, 0.0)
    for number, usage in process_tree(pid, processes).items():
        try:
            status = (processes / str(number) / "status").read_text()
            descriptors = sum(1 for _ in (processes / str(number) / "fd").iterdir())
        except OSError:  # it has just ended
            continue
        if "VmRSS:" not in status:  # it has ended, and nobody has looked yet
            continue
        part = "driver" if number == pid else "java" if usage.command == JAVA else "workers"
        amounts[f"{part}_megabytes"] += _after(status, "VmRSS:") * 1024 / 1e6
        amounts["threads"] += _after(status, "Threads:")
        amounts["descriptors"] += descriptors
    return amounts


_NAMES = ("descriptors", "driver_megabytes", "java_megabytes", "threads", "workers_megabytes")


def _after(status: str, name: str) -> float:
    return float(status.partition(name)[2].split(maxsplit=1)[0])


def left_on_disk(folders: Mapping[str, Path]) -> dict[str, float]:
    """Return how many files lie below folders, and their bytes; a folder that lies in another counts by itself.

    Args:
        folders: By name.

    Example:
        >>> import tempfile
        >>> top = Path(tempfile.mkdtemp())
        >>> (top / "log").mkdir()
        >>> written = (top / "log" / "0").write_text("1234"), (top / "a").write_text("12")
        >>> left_on_disk({"checkpoint": top, "log": top / "log"})
        {'checkpoint_files': 1.0, 'checkpoint_bytes': 2.0, 'log_files': 1.0, 'log_bytes': 4.0}
    """
    names = {folder.absolute(): name for name, folder in folders.items()}
    amounts = {f"{name}_{unit}": 0.0 for name in folders for unit in ("files", "bytes")}
    for top in folders.values():
        for place, inner, files in os.walk(top.absolute()):
            inner[:] = [folder for folder in inner if Path(place, folder) not in names]
            name = next(names[folder] for folder in (Path(place), *Path(place).parents) if folder in names)
            for file in files:
                try:
                    size = Path(place, file).stat().st_size
                except OSError:  # it has just been deleted
                    continue
                amounts[f"{name}_files"] += 1
                amounts[f"{name}_bytes"] += size
    return amounts
