"""Load profiles: by what factor the base rows per second are multiplied, and when."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from streamshed.errors import SourceUnavailableError
from streamshed.network.words.duration import parse_duration
from streamshed.traces.errors import InvalidLoadProfileError

_SECOND = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadStep:
    """A stretch of time with a constant load factor.

    Args:
        duration_microseconds: How long it lasts, above 0.
        factor: Multiplies the base rows per second, >= 0; 0 is silence.

    Raises:
        InvalidLoadProfileError: The duration is not above 0, or the factor is negative or not finite.
    """

    duration_microseconds: int
    factor: float

    def __post_init__(self) -> None:
        if self.duration_microseconds <= 0:
            raise InvalidLoadProfileError(
                f"a load step must last longer than 0, got {self.duration_microseconds} microseconds"
            )
        if not (math.isfinite(self.factor) and self.factor >= 0):
            raise InvalidLoadProfileError(f"a load factor must be finite and >= 0, got {self.factor}")


@dataclass(frozen=True, kw_only=True)
class LoadProfile:
    """Steps of load, one after the other, starting at time 0.

    With base rate R and factor f(t), the rows up to time t are R · L(t), L(t) = ∫ f over [0, t).

    Args:
        steps: In order, at least one, with a factor above 0 somewhere.

    Raises:
        InvalidLoadProfileError: There are no steps, or all factors are 0.

    Example:
        >>> profile = parse_load_profile("1x:60s,5x:60s,1x:60s")
        >>> profile.rows_until(90_000_000, rows_per_second=1000)
        210000
    """

    steps: tuple[LoadStep, ...]

    def __post_init__(self) -> None:
        if not self.steps:
            raise InvalidLoadProfileError("a load profile needs at least one step, got none")
        if not any(step.factor > 0 for step in self.steps):
            raise InvalidLoadProfileError("a load profile needs a factor above 0 somewhere, got only 0")

    @cached_property
    def duration_microseconds(self) -> int:
        """How long all steps last together."""
        return sum(step.duration_microseconds for step in self.steps)

    @cached_property
    def _edges(self) -> NDArray[np.float64]:
        """Times where steps meet, in microseconds."""
        durations = [step.duration_microseconds for step in self.steps]
        return np.concatenate(([0.0], np.cumsum(durations, dtype=np.float64)))

    @cached_property
    def _loads(self) -> NDArray[np.float64]:
        """L at the edges."""
        loads = [step.duration_microseconds * step.factor for step in self.steps]
        return np.concatenate(([0.0], np.cumsum(loads, dtype=np.float64)))

    def load_until(self, microseconds: float) -> float:
        """L(t): the load before a time, as microseconds at factor 1."""
        return float(np.interp(microseconds, self._edges, self._loads))

    def time_of_load(self, load: ArrayLike) -> NDArray[np.float64]:
        """Find when a load has been reached, the inverse of `load_until`.

        Args:
            load: Values of L, any shape.

        Returns:
            Microseconds, same shape; where silence follows a load, the end of that silence.
        """
        times: NDArray[np.float64] = np.interp(np.asarray(load), self._loads, self._edges)
        return times

    def rows_until(self, microseconds: float, *, rows_per_second: float) -> int:
        """Count the whole rows delivered before a time at a base rate."""
        return math.floor(rows_per_second * self.load_until(microseconds) / _SECOND + 1e-6)


def constant_load(duration_microseconds: int) -> LoadProfile:
    """Make the profile of one step.

    Args:
        duration_microseconds: How long it lasts, at the base rows per second.

    Returns:
        The profile.
    """
    return LoadProfile(steps=(LoadStep(duration_microseconds=duration_microseconds, factor=1.0),))


def parse_load_profile(text: str) -> LoadProfile:
    """Read a profile from text.

    Args:
        text: Steps `FACTORx:DURATION` with commas between, such as `1x:60s,5x:1 minute,1x:60s`.

    Returns:
        The profile.

    Raises:
        InvalidLoadProfileError: A step cannot be read; the message says which and why.

    Example:
        >>> [step.factor for step in parse_load_profile("1x:500 ms, 2.5x:1 minute").steps]
        [1.0, 2.5]
        >>> parse_load_profile("1x:60s,5:60s")
        Traceback (most recent call last):
        streamshed.traces.errors.InvalidLoadProfileError: step 2 of the load profile: expected
        FACTORx:DURATION such as 5x:60s, got '5:60s' (is the x after the factor missing?)
    """
    parts = enumerate(text.split(","), start=1)
    return LoadProfile(steps=tuple(_parse_step(part.strip(), number) for number, part in parts))


def _parse_step(text: str, number: int) -> LoadStep:
    where = f"step {number} of the load profile"
    factor, colon, duration = text.partition(":")
    multiplier = factor.strip().lower()
    if not (colon and multiplier.endswith("x")):
        cause = " (is the x after the factor missing?)" if colon else ""
        raise InvalidLoadProfileError(f"{where}: expected FACTORx:DURATION such as 5x:60s, got {text!r}{cause}")
    try:
        value = float(multiplier.removesuffix("x"))
    except ValueError:
        raise InvalidLoadProfileError(f"{where}: expected a number before the x, got {factor!r}") from None
    try:
        return LoadStep(duration_microseconds=parse_duration(duration.strip()), factor=value)
    except ValueError as error:
        raise InvalidLoadProfileError(f"{where}: {error}") from error


def load_of_rates(rates: Iterable[float]) -> LoadProfile:
    """Make the profile that delivers given rows per second.

    Args:
        rates: Rows per second, one for each second.

    Returns:
        A profile for a base rate of 1 row per second.

    Example:
        >>> load_of_rates([100, 700, 100]).rows_until(2_000_000, rows_per_second=1)
        800
    """
    steps = [LoadStep(duration_microseconds=_SECOND, factor=float(rate)) for rate in rates]
    return LoadProfile(steps=tuple(steps))


def read_rates(path: Path) -> LoadProfile:
    """Read a profile from a file of rows per second.

    Args:
        path: A text file with one number per line, one line per second; empty lines and what follows a
            `#` count for nothing.

    Returns:
        A profile for a base rate of 1 row per second.

    Raises:
        SourceUnavailableError: The file is missing or is not text.
        InvalidLoadProfileError: A line is not a rate, or there are none; the message says which line.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise SourceUnavailableError(f"load profile {path}: cannot be read: {error}") from error
    rates = []
    for number, line in enumerate(lines, start=1):
        text = line.partition("#")[0].strip()
        if not text:
            continue
        try:
            rates.append(float(text))
        except ValueError:
            raise InvalidLoadProfileError(
                f"load profile {path}, line {number}: expected rows per second, got {text!r}"
            ) from None
    try:
        return load_of_rates(rates)
    except InvalidLoadProfileError as error:
        raise InvalidLoadProfileError(f"load profile {path}: {error}") from None
