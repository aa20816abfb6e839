"""What a benchmark is asked, and what it answers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


def _nobody_watches(_step: str, _share: float) -> None:
    """Take progress that nobody wants to see."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchOptions:
    """How a benchmark is to be run.

    Args:
        quick: End within three minutes on two cores, and say in the result what was left out.
        trace: A Parquet file to replay; None lets the benchmark generate or find its own.
        seed: Equal seeds give equal inputs.
        text: Whether rows come as lines of JSON.
        cluster: Whether executors of a standalone cluster do the work, which the benchmark starts on this machine.
        progress: Told what is being done, and which share of the whole benchmark is done, in [0, 1].
    """

    quick: bool = False
    trace: str | None = None
    seed: int = 0
    text: bool = False
    cluster: bool = False
    progress: Callable[[str, float], None] = _nobody_watches


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchResult:
    """What a benchmark measured.

    Args:
        figures: The numbers it is judged by, each by its stable name; None: there is none, `null` in JSON.
        details: Whatever else explains them; only what JSON can hold.
        picture: Draws the result as a PNG at a path.
    """

    figures: Mapping[str, float | None]
    details: Mapping[str, Any] = field(default_factory=dict)
    picture: Callable[[Path], None]
