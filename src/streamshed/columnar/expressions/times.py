"""Functions of dates and times, in the session's time zone."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from streamshed.columnar.expressions.casts import cast, scaled_to_micros
from streamshed.columnar.expressions.coercion import (
    BIGINT,
    DATE,
    INT,
    INTEGERS,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    Builder,
    expect,
    type_name,
)
from streamshed.columnar.expressions.column_node import ColumnNode, is_null, strict
from streamshed.columnar.expressions.dialect import Dialect
from streamshed.columnar.expressions.values import Datum, SureValues, array_of, noted, numbers, valid
from streamshed.columnar.expressions.zone import DAY, SECOND, SURE_DAYS, zone
from streamshed.columnar.untranslatable import Untranslatable

Days = npt.NDArray[np.int64]
"""Days since 1970."""
_MINUTE, _HOUR = 60 * SECOND, 3600 * SECOND
_CLOCK: Mapping[str, tuple[int, int]] = {
    "hour": (_HOUR, 24),
    "minute": (_MINUTE, 60),
    "second": (SECOND, 60),
}
"""By field: its length in microseconds, and how many there are."""


def _years(days: Days) -> Days:
    return days.astype("M8[D]").astype("M8[Y]").astype(np.int64) + 1970


def _months(days: Days) -> Days:
    """Months since 1970-01."""
    return days.astype("M8[D]").astype("M8[M]").astype(np.int64)


def _month_starts(months: Days) -> Days:
    return months.astype("M8[M]").astype("M8[D]").astype(np.int64)


def _year_starts(days: Days) -> Days:
    return days.astype("M8[D]").astype("M8[Y]").astype("M8[D]").astype(np.int64)


def _weeks(days: Days) -> Days:
    """Weeks of ISO: a week is in the year that its Thursday is in."""
    thursdays = days - (days + 3) % 7 + 3
    return (thursdays - _year_starts(thursdays)) // 7 + 1


_CALENDAR: Mapping[str, Callable[[Days], Days]] = {
    "year": _years,
    "quarter": lambda days: _months(days) % 12 // 3 + 1,
    "month": lambda days: _months(days) % 12 + 1,
    "day": lambda days: days - _month_starts(_months(days)) + 1,
    "dayofyear": lambda days: days - _year_starts(days) + 1,
    "dayofweek": lambda days: (days + 4) % 7 + 1,
    "weekofyear": _weeks,
    "weekday": lambda days: (days + 3) % 7,
}
"""Fields of dates."""

_DAY_STARTS: Mapping[str, Callable[[Days], Days]] = {
    **dict.fromkeys(("day", "dd"), lambda days: days),
    "week": lambda days: days - (days + 3) % 7,
    **dict.fromkeys(("month", "mon", "mm"), lambda days: _month_starts(_months(days))),
    "quarter": lambda days: _month_starts(_months(days) // 3 * 3),
    **dict.fromkeys(("year", "yyyy", "yy"), _year_starts),
}
"""The first day of what a day belongs to, by the unit's name."""
_CLOCK_UNITS: Mapping[str, int] = {
    "microsecond": 1,
    "millisecond": 1000,
    "second": SECOND,
    "minute": _MINUTE,
    "hour": _HOUR,
}


def field_of_time(name: str) -> Builder:
    """Make nodes of `hour`, `minute`, `second`, `year`, `month`, `day` and the like: ints."""

    def build(dialect: Dialect, operands: Sequence[ColumnNode]) -> ColumnNode:
        operand = operands[0]
        if name in _CALENDAR:
            expect(operand, [DATE, TIMESTAMP, TIMESTAMP_NTZ], name)
            return strict(INT, _of_calendar(_CALENDAR[name]), cast(operand, DATE, dialect))
        expect(operand, [TIMESTAMP, TIMESTAMP_NTZ], name)
        return strict(INT, _of_clock(*_CLOCK[name]), cast(operand, TIMESTAMP_NTZ, dialect))

    return build


def _of_clock(length: int, count: int) -> Callable[[Datum], SureValues]:
    def kernel(datum: Datum) -> SureValues:
        return SureValues(array_of(INT, numbers(datum) // length % count, datum))

    return kernel


def _of_calendar(field: Callable[[Days], Days]) -> Callable[[Datum], SureValues]:
    def kernel(datum: Datum) -> SureValues:
        days = numbers(datum).astype(np.int64)
        near = np.clip(days, *SURE_DAYS)
        return SureValues(array_of(INT, _by_day(field, near), datum), noted((near != days) & valid(datum)))

    return kernel


def _by_day(function: Callable[[Days], Days], days: Days) -> Days:
    """Apply a function of days; looked up where there are fewer days than rows."""
    if not len(days):
        return days
    first, last = int(days.min()), int(days.max())
    if last - first >= len(days):
        return function(days)
    return function(np.arange(first, last + 1))[days - first]


def truncated_time(dialect: Dialect, operands: Sequence[ColumnNode]) -> ColumnNode:
    """`date_trunc(unit, timestamp)` with a literal unit."""
    unit = _unit(operands[0])
    instant = expect(operands[1], [TIMESTAMP, DATE], "date_trunc")
    if unit in _DAY_STARTS:
        starts = strict(DATE, _starting(_DAY_STARTS[unit]), cast(instant, DATE, dialect))
        return cast(starts, TIMESTAMP, dialect)
    if unit not in _CLOCK_UNITS:
        raise Untranslatable(f'date_trunc to "{unit}" is evaluated by Spark')
    return strict(TIMESTAMP, _within_hour(_CLOCK_UNITS[unit], dialect), cast(instant, TIMESTAMP, dialect))


def truncated_date(dialect: Dialect, operands: Sequence[ColumnNode]) -> ColumnNode:
    """`trunc(date, unit)` with a literal unit."""
    unit = _unit(operands[1])
    if unit not in _DAY_STARTS or unit in ("day", "dd"):
        raise Untranslatable(f'trunc to "{unit}" is evaluated by Spark')
    date = cast(expect(operands[0], [DATE, TIMESTAMP, TIMESTAMP_NTZ], "trunc"), DATE, dialect)
    return strict(DATE, _starting(_DAY_STARTS[unit]), date)


def _unit(node: ColumnNode) -> str:
    if node.type != STRING or node.constant is None or is_null(node):
        raise Untranslatable("a unit of time that is no literal is evaluated by Spark")
    return str(node.constant.as_py()).lower()


def _starting(start: Callable[[Days], Days]) -> Callable[[Datum], SureValues]:
    def kernel(datum: Datum) -> SureValues:
        days = numbers(datum).astype(np.int64)
        near = np.clip(days, SURE_DAYS[0] + 366, SURE_DAYS[1])
        return SureValues(array_of(DATE, _by_day(start, near), datum), noted((near != days) & valid(datum)))

    return kernel


def _within_hour(length: int, dialect: Dialect) -> Callable[[Datum], SureValues]:
    """Cut local clocks off; unsure where they were set since then."""
    hours = zone(dialect.time_zone)

    def kernel(datum: Datum) -> SureValues:
        instants = numbers(datum)
        local = hours.local(instants)
        starts = instants - local % length
        same_clock = hours.local(starts) - starts == local - instants
        sure = np.broadcast_to(hours.is_sure(instants) & same_clock & (starts <= instants), len(instants))
        return SureValues(array_of(TIMESTAMP, starts, datum), noted(~sure & valid(datum)))

    return kernel


def units_since_1970(length: int) -> Builder:
    """Make nodes of `unix_seconds`, `unix_millis`, `unix_micros`: bigints, fractions cut off downward."""

    def build(_: Dialect, operands: Sequence[ColumnNode]) -> ColumnNode:
        instant = expect(operands[0], [TIMESTAMP], "time since 1970")
        return strict(BIGINT, lambda datum: SureValues(array_of(BIGINT, numbers(datum) // length, datum)), instant)

    return build


def seconds_since_1970(instant: ColumnNode) -> ColumnNode:
    """`unix_timestamp` of a timestamp: fractions are cut off toward 1970."""

    def kernel(datum: Datum) -> SureValues:
        micros = numbers(datum)
        return SureValues(array_of(BIGINT, (micros - np.fmod(micros, SECOND)) // SECOND, datum))

    return strict(BIGINT, kernel, instant)


def instant_of_units(length: int) -> Builder:
    """Make nodes of `timestamp_seconds`, `timestamp_millis`, `timestamp_micros` of whole numbers."""

    def build(_: Dialect, operands: Sequence[ColumnNode]) -> ColumnNode:
        number = expect(operands[0], INTEGERS, "a timestamp")
        return strict(TIMESTAMP, lambda datum: scaled_to_micros(datum, length), number)

    return build


def unix_date(_: Dialect, operands: Sequence[ColumnNode]) -> ColumnNode:
    """`unix_date`: days since 1970."""
    date = expect(operands[0], [DATE], "unix_date")
    return strict(INT, lambda datum: SureValues(array_of(INT, numbers(datum), datum)), date)


def days_between(_: Dialect, operands: Sequence[ColumnNode]) -> ColumnNode:
    """`datediff(end, start)`."""
    end, start = (expect(operand, [DATE], "datediff") for operand in operands)
    return strict(INT, lambda *data: SureValues(array_of(INT, numbers(data[0]) - numbers(data[1]), *data)), end, start)


def moved_date(sign: int) -> Builder:
    """Make nodes of `date_add`, `date_sub`, and of a date plus a number of days."""

    def build(_: Dialect, operands: Sequence[ColumnNode]) -> ColumnNode:
        date = expect(operands[0], [DATE], "a day")
        days = expect(operands[1], INTEGERS[:3], "a number of days")

        def kernel(datum: Datum, count: Datum) -> SureValues:
            moved = numbers(datum).astype(np.int64) + sign * numbers(count).astype(np.int64)
            near = np.clip(moved, np.iinfo(np.int32).min, np.iinfo(np.int32).max)
            return SureValues(array_of(DATE, near, datum, count), noted((near != moved) & valid(datum, count)))

        return strict(DATE, kernel, date, days)

    return build


_INTERVALS: Mapping[str, int] = {
    "microsecond": 1,
    "millisecond": 1000,
    "second": SECOND,
    "minute": _MINUTE,
    "hour": _HOUR,
    "day": DAY,
}


def moved_time(operand: ColumnNode, count: str, unit: str, dialect: Dialect) -> ColumnNode:
    """A timestamp plus a literal interval.

    Args:
        operand: The timestamp.
        count: How many units, such as "-5".
        unit: Its name, such as "minutes".
        dialect: The session's: where local clocks are set, a day may have other than 24 hours.
    """
    name = unit.lower().removesuffix("s")
    if operand.type not in (TIMESTAMP, TIMESTAMP_NTZ):
        raise Untranslatable(f"an interval beside {type_name(operand.type)} is evaluated by Spark")
    digits = count.removeprefix("-")
    if name not in _INTERVALS or not (digits.isascii() and digits.isdigit() and len(digits) <= 6):
        raise Untranslatable(f"the interval {count} {unit} is evaluated by Spark")
    length = int(count) * _INTERVALS[name]
    if abs(length) >= DAY and operand.type == TIMESTAMP and not zone(dialect.time_zone).is_fixed:
        raise Untranslatable(f'intervals of a day in "{dialect.time_zone}" are evaluated by Spark')

    def kernel(datum: Datum) -> SureValues:
        moved = numbers(datum) + length
        overflow = (moved < numbers(datum)) != (length < 0)
        return SureValues(array_of(operand.type, moved, datum), noted(overflow & valid(datum)) if length else None)

    return strict(operand.type, kernel, operand)
