"""The load of a simulation: a shape, steps, or a file of what was recorded."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import numpy as np

from streamshed.errors import near_miss
from streamshed.simulator.profiles import LoadCurve, burst, diurnal, flash_crowd, from_rates, ramp, scaled
from streamshed.traces.errors import InvalidLoadProfileError
from streamshed.traces.load_profile import LoadProfile, parse_load_profile, read_rates
from streamshed.traces.trace import read_trace

_MINUTE, _HOUR, _DAY = 60.0, 3600.0, 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedLoad:
    """A load over time.

    Attributes:
        name: What it is, for people.
        factors: Times the base rows per second.
        seconds: How long it lasts.
        rows_per_second: The base, as recorded; None: it is only a shape.
    """

    name: str
    factors: LoadCurve
    seconds: float
    rows_per_second: float | None = None


@dataclass(frozen=True, slots=True)
class _Shape:
    profile: Callable[[float], LoadCurve]
    seconds: float
    factor: float


SHAPES: Mapping[str, _Shape] = MappingProxyType(
    {
        "burst": _Shape(
            lambda high: burst(start_seconds=10 * _MINUTE, end_seconds=15 * _MINUTE, low=1.0, high=high),
            30 * _MINUTE,
            3.0,
        ),
        "ramp": _Shape(
            lambda high: ramp(start_seconds=10 * _MINUTE, end_seconds=50 * _MINUTE, low=1.0, high=high), _HOUR, 3.0
        ),
        "diurnal": _Shape(lambda high: diurnal(low=1.0, high=high), _DAY, 3.0),
        "flash_crowd": _Shape(
            lambda high: flash_crowd(
                start_seconds=30 * _MINUTE, rise_seconds=_MINUTE, half_life_seconds=10 * _MINUTE, low=1.0, high=high
            ),
            2 * _HOUR,
            10.0,
        ),
    }
)
"""Loads that begin at 1× and reach a factor: of each, how, for how long, and that factor if none is given."""

_SHAPE = re.compile(r"(?P<name>[a-z_]+)(?::(?P<factor>\d+(?:\.\d+)?)x)?")


def read_load(text: str, *, time: str) -> SimulatedLoad:
    """Read what `--load` says.

    Args:
        text: A shape with or without its factor (`flash_crowd:10x`), steps (`1x:60s,3x:60s`), a Parquet file or folder
            of recorded rows, or any other file, of rows per second, a second a line.
        time: The column of times of recorded rows.

    Raises:
        InvalidLoadProfileError: It is none of these, or cannot be read; the message says why.
        InvalidTraceError: Recorded rows have no such column.
        SourceUnavailableError: A file cannot be read.

    Example:
        >>> load = read_load("flash_crowd:10x", time="ts")
        >>> load.seconds, load.factors.load_at(31 * 60)
        (7200.0, 10.0)
        >>> read_load("flash_crow", time="ts")
        Traceback (most recent call last):
        streamshed.traces.errors.InvalidLoadProfileError: load 'flash_crow': no such file or shape (did you mean
        "flash_crowd"?); shapes are burst, ramp, diurnal, flash_crowd, steps are written 1x:60s,3x:60s
    """
    path = Path(text)
    if path.exists():
        return _recorded(path, time) if _holds_rows(path) else _rates(path)
    shape_match = _SHAPE.fullmatch(text)
    if shape_match and shape_match["name"] in SHAPES:
        shape = SHAPES[shape_match["name"]]
        factor = float(shape_match["factor"] or shape.factor)
        if factor <= 0:
            raise InvalidLoadProfileError(f"load {text!r}: the factor must be above 0")
        return SimulatedLoad(
            name=f"{shape_match['name']} {factor:g}×", factors=shape.profile(factor), seconds=shape.seconds
        )
    if ":" not in text:
        raise InvalidLoadProfileError(
            f"load {text!r}: no such file or shape{near_miss(text, SHAPES)};"
            f" shapes are {', '.join(SHAPES)}, steps are written 1x:60s,3x:60s"
        )
    return _steps(text, parse_load_profile(text))


def _holds_rows(path: Path) -> bool:
    return path.is_dir() or path.suffix == ".parquet"


def _steps(text: str, load_steps: LoadProfile) -> SimulatedLoad:
    starts = np.cumsum([0.0, *(step.duration_microseconds / 1e6 for step in load_steps.steps)]).tolist()
    times = [time for start, end in itertools.pairwise(starts) for time in (start, end)]
    factors = [step.factor for step in load_steps.steps for _ in range(2)]
    return SimulatedLoad(
        name=text, factors=LoadCurve(tuple(times), tuple(factors)), seconds=load_steps.duration_microseconds / 1e6
    )


def _rates(path: Path) -> SimulatedLoad:
    load_steps = read_rates(path)
    rates = [step.factor for step in load_steps.steps for _ in range(round(step.duration_microseconds / 1e6))]
    return _of_rates(path, np.array(rates))


def _recorded(path: Path, time: str) -> SimulatedLoad:
    trace = read_trace(path, time=time)
    return _of_rates(path, np.bincount((trace.positions // 1_000_000).astype(np.int64)).astype(np.float64))


def _of_rates(path: Path, rates: np.ndarray[tuple[int], np.dtype[np.float64]]) -> SimulatedLoad:
    mean = float(rates.mean())
    return SimulatedLoad(
        name=str(path),
        factors=scaled(from_rates(rates.tolist()), 1 / mean),
        seconds=float(len(rates)),
        rows_per_second=mean,
    )
