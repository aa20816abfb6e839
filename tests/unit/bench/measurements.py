from collections.abc import Sequence

from streamshed_bench.runs.micro_batches import MicroBatchTime


def ran(rows: int, seconds: float, *, started: float = 0.0) -> MicroBatchTime:
    """A micro-batch that ran."""
    return MicroBatchTime(rows=rows, started_at_seconds=started, seconds=seconds)


def one_after_another(rows: int, seconds: Sequence[float], *, started: float = 0.0) -> list[MicroBatchTime]:
    """Micro-batches of equal size without pauses."""
    found = []
    for duration in seconds:
        found.append(ran(rows, duration, started=started))
        started += duration
    return found
