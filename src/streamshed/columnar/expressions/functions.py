"""The functions that are evaluated here, by name."""

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamshed.columnar.expressions.arithmetic import (
    absolute,
    opposite,
    positive_remainder,
    remainder,
    rounded,
    shift,
    square_root,
)
from streamshed.columnar.expressions.branches import coalesce, if_else, if_present, null_if
from streamshed.columnar.expressions.casts import cast
from streamshed.columnar.expressions.coercion import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TINYINT,
    Builder,
    expect,
)
from streamshed.columnar.expressions.column_node import ColumnNode
from streamshed.columnar.expressions.comparison import extreme
from streamshed.columnar.expressions.dialect import Dialect
from streamshed.columnar.expressions.logic import is_nan, missing, present
from streamshed.columnar.expressions.patterns import matching_regex, searching
from streamshed.columnar.expressions.texts import (
    character_count,
    concatenation,
    in_case,
    left,
    replacement,
    right,
    substring,
    trimmed,
)
from streamshed.columnar.expressions.times import (
    days_between,
    field_of_time,
    instant_of_units,
    moved_date,
    seconds_since_1970,
    truncated_date,
    truncated_time,
    units_since_1970,
    unix_date,
)
from streamshed.columnar.expressions.zone import SECOND
from streamshed.columnar.untranslatable import Untranslatable

_ANY_NUMBER = (1, 100)


def _conversion(kind: pa.DataType) -> Builder:
    return lambda dialect, operands: cast(operands[0], kind, dialect)


def _search(function: pc.Function) -> Builder:
    return lambda _, operands: searching(function, *operands)


def _to_seconds(dialect: Dialect, operands: Sequence[ColumnNode]) -> ColumnNode:
    time = expect(operands[0], [TIMESTAMP, DATE], "unix_timestamp")
    return seconds_since_1970(cast(time, TIMESTAMP, dialect))


_BY_NAMES: Mapping[tuple[str, ...], tuple[tuple[int, int], Builder]] = {
    ("abs",): ((1, 1), absolute),
    ("bigint",): ((1, 1), _conversion(BIGINT)),
    ("boolean",): ((1, 1), _conversion(BOOLEAN)),
    ("ceil", "ceiling"): ((1, 1), rounded(pc.ceil)),
    ("coalesce",): (_ANY_NUMBER, coalesce),
    ("concat",): (_ANY_NUMBER, concatenation),
    ("contains",): ((2, 2), _search(pc.match_substring)),
    ("date", "to_date"): ((1, 1), _conversion(DATE)),
    ("date_add", "dateadd"): ((2, 2), moved_date(1)),
    ("date_diff", "datediff"): ((2, 2), days_between),
    ("date_sub",): ((2, 2), moved_date(-1)),
    ("date_trunc",): ((2, 2), truncated_time),
    ("day", "dayofmonth"): ((1, 1), field_of_time("day")),
    ("dayofweek",): ((1, 1), field_of_time("dayofweek")),
    ("dayofyear",): ((1, 1), field_of_time("dayofyear")),
    ("double",): ((1, 1), _conversion(DOUBLE)),
    ("endswith",): ((2, 2), _search(pc.ends_with)),
    ("float",): ((1, 1), _conversion(FLOAT)),
    ("floor",): ((1, 1), rounded(pc.floor)),
    ("greatest",): (_ANY_NUMBER, extreme(">")),
    ("hour",): ((1, 1), field_of_time("hour")),
    ("if",): ((3, 3), if_else),
    ("int",): ((1, 1), _conversion(INT)),
    ("isnan",): ((1, 1), is_nan),
    ("isnotnull",): ((1, 1), present),
    ("isnull",): ((1, 1), missing),
    ("least",): (_ANY_NUMBER, extreme("<")),
    ("left",): ((2, 2), left),
    ("len", "length", "char_length", "character_length"): ((1, 1), character_count),
    ("lower", "lcase"): ((1, 1), in_case(pc.ascii_lower)),
    ("ltrim",): ((1, 1), trimmed(pc.utf8_ltrim)),
    ("minute",): ((1, 1), field_of_time("minute")),
    ("mod",): ((2, 2), remainder),
    ("month",): ((1, 1), field_of_time("month")),
    ("negative",): ((1, 1), opposite),
    ("nullif",): ((2, 2), null_if),
    ("nvl", "ifnull"): ((2, 2), coalesce),
    ("nvl2",): ((3, 3), if_present),
    ("pmod",): ((2, 2), positive_remainder),
    ("quarter",): ((1, 1), field_of_time("quarter")),
    ("regexp", "regexp_like", "rlike"): ((2, 2), lambda _, operands: matching_regex(*operands)),
    ("replace",): ((3, 3), replacement),
    ("right",): ((2, 2), right),
    ("rtrim",): ((1, 1), trimmed(pc.utf8_rtrim)),
    ("second",): ((1, 1), field_of_time("second")),
    ("shiftleft",): ((2, 2), shift(np.left_shift)),
    ("shiftright",): ((2, 2), shift(np.right_shift)),
    ("smallint",): ((1, 1), _conversion(SMALLINT)),
    ("sqrt",): ((1, 1), square_root),
    ("startswith",): ((2, 2), _search(pc.starts_with)),
    ("string",): ((1, 1), _conversion(STRING)),
    ("substr", "substring"): ((2, 3), substring),
    ("timestamp", "to_timestamp"): ((1, 1), _conversion(TIMESTAMP)),
    ("timestamp_micros",): ((1, 1), instant_of_units(1)),
    ("timestamp_millis",): ((1, 1), instant_of_units(1000)),
    ("timestamp_seconds",): ((1, 1), instant_of_units(SECOND)),
    ("tinyint",): ((1, 1), _conversion(TINYINT)),
    ("trim",): ((1, 1), trimmed(pc.utf8_trim)),
    ("trunc",): ((2, 2), truncated_date),
    ("unix_date",): ((1, 1), unix_date),
    ("unix_micros",): ((1, 1), units_since_1970(1)),
    ("unix_millis",): ((1, 1), units_since_1970(1000)),
    ("unix_seconds",): ((1, 1), units_since_1970(SECOND)),
    ("unix_timestamp", "to_unix_timestamp"): ((1, 1), _to_seconds),
    ("upper", "ucase"): ((1, 1), in_case(pc.ascii_upper)),
    ("weekday",): ((1, 1), field_of_time("weekday")),
    ("weekofyear",): ((1, 1), field_of_time("weekofyear")),
    ("year",): ((1, 1), field_of_time("year")),
}
"""How many operands a function takes, and what makes a node of it."""

FUNCTIONS: Mapping[str, tuple[tuple[int, int], Builder]] = {
    name: function for names, function in _BY_NAMES.items() for name in names
}


def function_call(name: str, dialect: Dialect, operands: Sequence[ColumnNode]) -> ColumnNode:
    """Make a node of a call.

    Raises:
        Untranslatable: The function is not among those, or not with such operands.
    """
    if name.lower() not in FUNCTIONS:
        raise Untranslatable(f'the function "{name.lower()}" is evaluated by Spark')
    (fewest, most), build = FUNCTIONS[name.lower()]
    if not fewest <= len(operands) <= most:
        raise Untranslatable(f'the function "{name.lower()}" with {len(operands)} arguments is evaluated by Spark')
    return build(dialect, operands)
