"""Local time: the hours of a session's time zone, as Java keeps them."""

from __future__ import annotations

import re
import zoneinfo
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from streamshed.columnar.expressions.values import Mask
from streamshed.columnar.untranslatable import Untranslatable

Micros = npt.NDArray[np.int64]
"""Microseconds since 1970, of UTC or of a local clock."""

SECOND = 1_000_000
DAY = 86_400 * SECOND
SURE_DAYS = (-719_162, 2_932_896)
"""0001-01-01 and 9999-12-31 in days since 1970: what dates may be in SQL."""
_UTC_NAMES = frozenset({"UTC", "Etc/UTC", "GMT", "Etc/GMT", "Z"})
_OFFSET = re.compile(r"([+-])(\d\d):(\d\d)")
_FIRST, _LAST = datetime(1970, 1, 1, tzinfo=UTC), datetime(2037, 1, 1, tzinfo=UTC)
"""Of what lies outside, databases do not agree: some have less of the past, some say no rule for the future."""
_STEP = timedelta(days=3)
"""No zone has changed its offset twice within so short a time since 1970: the shortest was a week."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, eq=False)
class Zone:
    """The offsets of a time zone, a function in steps.

    Attributes:
        changes: The instants at which the offset changes, rising.
        offsets: What local clocks are ahead of UTC: before the first change, and after each.
        is_fixed: Whether there are no changes, ever.
    """

    changes: Micros
    offsets: Micros
    is_fixed: bool

    def is_sure(self, instants: Micros) -> Mask | bool:
        """Where the offset is known."""
        if self.is_fixed:
            return True
        return np.asarray((instants >= _micros(_FIRST)) & (instants < _micros(_LAST)))

    def local(self, instants: Micros) -> Micros:
        """What local clocks show at instants.

        Example:
            >>> berlin = zone("Europe/Berlin")
            >>> summer = np.datetime64("2024-07-01T12:00:00", "us").astype(np.int64)
            >>> berlin.local(np.array([summer])).astype("M8[us]")
            array(['2024-07-01T14:00:00.000000'], dtype='datetime64[us]')
        """
        return instants + self._offsets(instants, self.changes)

    def instants(self, local: Micros) -> Micros:
        """The instants at which local clocks show these times: of two the earlier, skipped ones as much later.

        Of days, this is where they begin: since 1970 no clock was set forward from before midnight to beyond it.

        Example:
            >>> berlin = zone("Europe/Berlin")
            >>> skipped = np.array(["2024-03-31T02:30"], "M8[us]").astype(np.int64)
            >>> berlin.local(berlin.instants(skipped)).astype("M8[us]")
            array(['2024-03-31T03:30:00.000000'], dtype='datetime64[us]')
        """
        return local - self._offsets(local, self._local_changes())

    def _local_changes(self) -> Micros:
        """From when on local clocks show only the new offset."""
        return self.changes + np.maximum(self.offsets[:-1], self.offsets[1:])

    def _offsets(self, times: Micros, changes: Micros) -> Micros:
        if self.is_fixed or not len(times):
            return self.offsets[:1]
        ends = np.searchsorted(changes, [times.min(), times.max()], side="right")
        if ends[0] == ends[1]:
            return self.offsets[ends[:1]]
        return self.offsets[np.searchsorted(changes, times, side="right")]


@lru_cache(maxsize=16)
def zone(name: str) -> Zone:
    """The time zone of a session.

    Args:
        name: Such as "UTC", "+02:00" or "Europe/Berlin".

    Raises:
        Untranslatable: It is another kind of name, or this machine does not know the region.
    """
    if name in _UTC_NAMES:
        return _fixed(0)
    if (match := _OFFSET.fullmatch(name)) is not None:
        minutes = 60 * int(match[2]) + int(match[3])
        return _fixed(minutes if match[1] == "+" else -minutes)
    if "/" not in name:
        raise Untranslatable(f'times in the time zone "{name}" are evaluated by Spark')
    try:
        return _region(zoneinfo.ZoneInfo(name))
    except (zoneinfo.ZoneInfoNotFoundError, ValueError) as error:
        raise Untranslatable(f'this machine has no time zone "{name}": Spark evaluates it') from error


def _fixed(minutes: int) -> Zone:
    return Zone(np.array([], np.int64), np.array([60 * minutes * SECOND]), is_fixed=True)


def _region(region: zoneinfo.ZoneInfo) -> Zone:
    changes: list[int] = []
    offsets = [_offset(region, _FIRST)]
    start = _FIRST
    while start < _LAST:
        end = start + _STEP
        if _offset(region, end) != offsets[-1]:
            changes.append(_micros(_first_change(region, start, end)))
            offsets.append(_offset(region, end))
        start = end
    return Zone(np.array(changes, np.int64), np.array(offsets, np.int64), is_fixed=False)


def _first_change(region: zoneinfo.ZoneInfo, start: datetime, end: datetime) -> datetime:
    """Halve the stretch in which the offset changes until it is a second long."""
    before = _offset(region, start)
    while (length := end - start) > timedelta(seconds=1):
        middle = start + timedelta(seconds=length // timedelta(seconds=2))
        if _offset(region, middle) == before:
            start = middle
        else:
            end = middle
    return end


def _offset(region: zoneinfo.ZoneInfo, instant: datetime) -> int:
    local = instant.astimezone(region).replace(tzinfo=UTC)
    return _micros(local) - _micros(instant)


def _micros(instant: datetime) -> int:
    return (instant - _EPOCH) // timedelta(microseconds=1)
