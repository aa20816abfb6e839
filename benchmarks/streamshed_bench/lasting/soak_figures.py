"""What the benchmark `soak` says: how fast what a run holds grows, and what it leaves."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from scipy.stats import theilslopes

from streamshed_bench.lasting.held import Held

FLAT = (
    "driver_megabytes",
    "workers_megabytes",
    "java_heap_megabytes",
    "threads",
    "descriptors",
    "journal_files",
    "plans_files",
    "state_files",
    "state_bytes",
    "source_logs_files",
    "checkpoint_files",
    "scratch_files",
)
"""What should not grow once a run has its size."""

_GROWING = ("source_logs_bytes", "journal_bytes", "set_aside_files", "set_aside_bytes", "answers_files")
_HOUR, _DAY = 3600.0, 86_400.0


def figures_of(looks: Sequence[Held]) -> dict[str, float]:
    """Condense a run into the benchmark's figures, over its second half.

    The growth of an amount is its slope (Theil and Sen's: the median over all pairs of looks) per hour ÷ its median.

    Args:
        looks: In order, at least four.
    """
    later = looks[len(looks) // 2 :]
    figures = {f"{name}_growth_per_hour": _growth(later, name) for name in FLAT}
    figures["most_growth_per_hour"] = max(figures.values())
    figures |= {name: median(look.amounts[name] for look in later) for name in (*FLAT[:5], "java_megabytes")}
    seconds, micro_batches = _span(later)
    return figures | {"micro_batch_seconds": seconds / max(micro_batches, 1)}


def left_after(looks: Sequence[Held], *, days: float) -> dict[str, float]:
    """Return what would lie on disk after so many days, by what was added per second in the second half.

    Args:
        looks: In order, at least four.
        days: Since the run began.
    """
    later = looks[len(looks) // 2 :]
    return {
        name: later[-1].amounts[name] + max(_slope(later, name), 0.0) * (days * _DAY - later[-1].seconds)
        for name in _GROWING
    }


def _span(looks: Sequence[Held]) -> tuple[float, int]:
    return looks[-1].seconds - looks[0].seconds, looks[-1].micro_batch_id - looks[0].micro_batch_id


def _growth(looks: Sequence[Held], name: str) -> float:
    typical = median(look.amounts[name] for look in looks)
    return _slope(looks, name) * _HOUR / typical if typical else 0.0


def _slope(looks: Sequence[Held], name: str) -> float:
    slope, *_ = theilslopes([look.amounts[name] for look in looks], [look.seconds for look in looks])
    return float(slope)
