import math
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from streamshed.columnar.expressions.compiled import compiled
from streamshed.columnar.expressions.dialect import Dialect
from streamshed.columnar.untranslatable import Unsure, Untranslatable
from tests.unit.columnar.evaluated import ANSI, LAX, UNSURE, values

TYPES = {
    "size": pa.int32(),
    "wide": pa.int64(),
    "price": pa.float64(),
    "Host": pa.string(),
    "ts": pa.timestamp("us", "UTC"),
    "tags": pa.list_(pa.string()),
    "amount": pa.decimal128(10, 2),
    "flags": pa.struct({"syn": pa.bool_(), "window": pa.int32()}),
    "nanos": pa.timestamp("ns"),
}


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("soundex(host)", 'the function "soundex" is evaluated by Spark'),
        ("current_timestamp() > ts", 'the function "current_timestamp" is evaluated by Spark'),
        ("substring(host)", 'the function "substring" with 1 arguments is evaluated by Spark'),
        ("sise > 3", 'the column "sise" is not one of the stream'),
        ("tags IS NULL", 'the column "tags" of list<item: string> is evaluated by Spark'),
        ("amount + 3", "is evaluated by Spark"),
        ("amount > price", "decimal(10,2) as double is evaluated by Spark"),
        ("CAST(amount AS int)", "is evaluated by Spark"),
        ("host RLIKE '(?i)a'", 'the regular expression "(?i)a" is evaluated by Spark'),
        ("nanos IS NULL", 'the column "nanos" of timestamp[ns] is evaluated by Spark'),
        ("flags", 'the column "flags" of struct'),
        ("flags.ack", 'the column "ack" is not one'),
        ("size + 1.5", "int beside decimal(2,1) is evaluated by Spark"),
        ("NULL", "values of void are evaluated by Spark"),
        ("size = host", "comparing text with int is evaluated by Spark"),
        ("size = '80a'", "comparing text with int is evaluated by Spark"),
        ("size = '3000000000'", "comparing text with int is evaluated by Spark"),
        ("host LIKE host", "LIKE with a pattern that is no literal is evaluated by Spark"),
        ("host LIKE 'a!' ESCAPE '!'", "is not one of LIKE: Spark evaluates it"),
        (r"host = 'a\n'", "with a backslash is evaluated by Spark"),
        ("host = 'it''s'", "is evaluated by Spark"),
        ("size IN (wide, 1)", "IN with values that are not constants is evaluated by Spark"),
        ("size BETWEEN SYMMETRIC 2 AND 1", "BETWEEN SYMMETRIC is evaluated by Spark"),
        ("try_cast(host AS int)", "the cast to int is evaluated by Spark"),
        ("CAST(price AS string)", "the cast of double to string is evaluated by Spark"),
        ("CAST(size AS decimal(10,2))", "the cast to decimal(10, 2) is evaluated by Spark"),
        ("size | wide + 1", "operators beside each other without parentheses"),
        ("size = wide = true", "operators beside each other without parentheses"),
        ("NOT size IS NULL = true", "evaluated by Spark"),
        ("ts + INTERVAL 1 MONTH", "the interval 1 MONTH is evaluated by Spark"),
        ("transform(tags, x -> x)", "is evaluated by Spark"),
        ("size >", "cannot parse"),
        ("sum(size)", "the aggregate sum() belongs after a window"),
    ],
)
def test_what_is_left_to_spark_says_why(sql: str, reason: str) -> None:
    with pytest.raises(Untranslatable, match=r".") as error:
        compiled(sql, TYPES, ANSI)
    assert reason in str(error.value)


def test_columns_are_named_as_in_the_schema_whatever_their_case() -> None:
    expression = compiled("HOST = 'a' AND Flags.SYN AND size > 1", TYPES, ANSI)
    assert expression.columns == {"Host", "flags", "size"}


def test_two_columns_that_differ_in_case_only_are_left_to_spark() -> None:
    with pytest.raises(Untranslatable, match="is not one of the stream"):
        compiled("a > 1", {"a": pa.int32(), "A": pa.int32()}, ANSI)


def test_fields_of_structs_are_null_where_the_struct_is() -> None:
    flags = pa.array([{"syn": True}, {"syn": None}, None, {"syn": False}], pa.struct({"syn": pa.bool_()}))
    assert values("flags.syn", flags=flags) == [True, None, None, False]


def test_what_is_nested_too_deeply_is_left_to_spark() -> None:
    with pytest.raises(Untranslatable):
        compiled("size" + " + 1" * 5000, TYPES, ANSI)


def test_what_arrow_refuses_is_left_to_spark() -> None:
    no_text = pa.array([b"a", b"\xff"]).view(pa.string())
    expression = compiled("substring(host, 1, 1)", TYPES, ANSI)
    with pytest.raises(Unsure) as unsure:
        expression.evaluate({"Host": no_text}, 2)
    assert unsure.value.rows.tolist() == [True, True]


def test_a_constant_is_repeated() -> None:
    array = compiled("1 + 1", {}, ANSI).evaluate({}, 3)
    assert (array.to_pylist(), array.type) == ([2, 2, 2], pa.int32())


def test_a_constant_that_fails_leaves_all_rows_to_spark_but_none_where_there_is_none() -> None:
    expression = compiled("1 / 0", {}, ANSI)
    with pytest.raises(Unsure) as unsure:
        expression.evaluate({}, 2)
    assert unsure.value.rows.tolist() == [True, True]
    assert expression.evaluate({}, 0).to_pylist() == []


def test_slices_of_arrays_are_read_where_they_begin() -> None:
    size = pa.array([9, None, 2, 3, None, 5], pa.int32())[2:]
    truth = pa.array([None, True, True, False, None, True])[2:]
    assert values("pmod(size, 2)", size=size) == [0, 1, None, 1]
    assert values("if(truth, size % 5, 0 - size)", size=size, truth=truth) == [2, -3, None, 0]


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("CASE WHEN b = 0 THEN 0 ELSE a / b END", [0.0, 2.0, 0.0]),
        ("if(b != 0, a div b, -1L)", [-1, 2, -1]),
        ("b != 0 AND a / b > 1", [False, True, False]),
        ("b = 0 OR a / b > 1", [True, True, True]),
        ("coalesce(if(b = 0, 0D, NULL), a / b)", [0.0, 2.0, 0.0]),
        ("nvl2(nullif(b, 0), a / b, 0D)", [0.0, 2.0, 0.0]),
        ("a / b > 1 AND b != 0", [UNSURE, True, UNSURE]),
        ("CASE WHEN b = 0 THEN a / b ELSE 0 END", [UNSURE, 0.0, UNSURE]),
        ("CASE WHEN a / b > 1 THEN 1 ELSE 0 END", [UNSURE, 1, UNSURE]),
        ("(a / b) IS NULL", [UNSURE, False, UNSURE]),
        ("NULL + a % b", [UNSURE, None, UNSURE]),
        ("coalesce(a / b, 0D)", [UNSURE, 2.0, UNSURE]),
    ],
)
def test_a_division_by_zero_counts_where_a_row_comes_to_it(sql: str, expected: list[object]) -> None:
    columns = {"a": pa.array([1, 4, 5], pa.int32()), "b": pa.array([0, 2, 0], pa.int32())}
    assert values(sql, ANSI, **columns) == expected


def test_without_ansi_what_fails_is_null_or_wraps() -> None:
    size = pa.array([0, 2147483647, None], pa.int32())
    assert values("5 / size", LAX, size=size) == [None, 5 / 2147483647, None]
    assert values("size + 1", LAX, size=size) == [1, -2147483648, None]
    assert values("size + 1", ANSI, size=size) == [1, UNSURE, None]


@pytest.mark.parametrize("name", ["Mars/Olympus", "PST", "GMT+1"])
def test_times_in_zones_that_are_not_sure_are_left_to_spark(name: str) -> None:
    with pytest.raises(Untranslatable, match=r"evaluate"):
        compiled("hour(ts)", TYPES, Dialect(ansi=True, time_zone=name))
    assert compiled("unix_micros(ts)", TYPES, Dialect(ansi=True, time_zone=name)).type == pa.int64()


@pytest.mark.parametrize(
    ("sql", "kind"),
    [
        ("1Y + 1S", pa.int16()),
        ("2147483648", pa.int64()),
        ("-2147483648", pa.int32()),
        ("1e0", pa.float64()),
        ("1.5F * 2F", pa.float32()),
        ("1.5F * 2", pa.float64()),
        ("7 / 2", pa.float64()),
        ("7Y div 2Y", pa.int64()),
        ("length('a')", pa.int32()),
        ("date '2024-02-29' + 1", pa.date32()),
        ("timestamp '2024-02-29 00:00:00'", pa.timestamp("us", "UTC")),
    ],
)
def test_results_have_the_types_of_sparks(sql: str, kind: pa.DataType) -> None:
    assert compiled(sql, {}, ANSI).type == kind


def test_a_whole_division_is_unsure_for_either_reason() -> None:
    lowest = -(1 << 63)
    columns = {"a": pa.array([lowest, 5, 7]), "b": pa.array([-1, 0, 2])}
    assert values("a div b", ANSI, **columns) == [UNSURE, UNSURE, 3]


@pytest.mark.parametrize("dialect", [ANSI, LAX])
@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("pmod(a, -3)", [UNSURE] * 3),
        ("pmod(a, 0)", [UNSURE] * 3),
        ("if(a > 0, pmod(a, 3 - 6), a)", [UNSURE, -7, 0]),
        ("pmod(a, -3) + 1", [UNSURE] * 3),
        ("pmod(a, 3)", [1, 2, 0]),
    ],
)
def test_a_constant_divisor_leaves_each_row_to_spark_that_comes_to_it(
    sql: str, expected: list[object], dialect: Dialect
) -> None:
    assert values(sql, dialect, a=pa.array([7, -7, 0], pa.int32())) == expected


def test_seconds_before_1970_are_cut_off_by_one_function_and_rounded_down_by_another() -> None:
    ts = pa.array([-1, 1_500_000], pa.timestamp("us", "UTC"))
    assert values("unix_timestamp(ts)", ts=ts) == [0, 1]
    assert values("unix_seconds(ts)", ts=ts) == [-1, 1]


def test_an_hour_in_which_clocks_were_set_is_left_to_spark() -> None:
    """Lord Howe's clocks went back from 02:00 to 01:30 at 15:00 UTC."""
    ts = pa.array([_micros("2024-04-06T14:40"), _micros("2024-04-06T15:10"), _micros("2024-04-06T16:10")])
    hours = values("unix_micros(date_trunc('HOUR', timestamp_micros(ts)))", Dialect(True, "Australia/Lord_Howe"), ts=ts)
    assert hours == [_micros("2024-04-06T14:00"), UNSURE, _micros("2024-04-06T15:30")]


def test_a_day_whose_midnight_is_skipped_begins_when_it_does() -> None:
    day = pa.array([17_839], pa.date32())  # São Paulo, 2018-11-04: clocks went from 00:00 to 01:00
    start = values("unix_micros(CAST(day AS timestamp))", Dialect(True, "America/Sao_Paulo"), day=day)
    assert start == [_micros("2018-11-04T03:00")]


def _micros(instant: str) -> int:
    return int(np.datetime64(instant, "us").astype(np.int64))


def test_a_point_stands_for_no_line_end_and_a_dollar_before_the_last() -> None:
    texts = pa.array(["a\rc", "a\u2028c", "a\x85c", "a c", "abc\n", "abc\r\n", "abc\u2028", "abc\n\n"])
    assert values("x RLIKE 'a.c'", x=texts) == [False] * 3 + [True] * 5
    assert values("x RLIKE 'bc$'", x=texts) == [False] * 4 + [True] * 3 + [False]


@pytest.mark.parametrize(
    ("regex", "expected"),
    [
        ("x[^a]$", [UNSURE, True, True, False, None]),
        ("^(x|[^a])+$", [UNSURE, True, True, True, None]),
        ("x\r$", [UNSURE, False, False, False, None]),
        ("x[^a]", [True, True, True, False, None]),
        ("x.?$", [True, True, True, True, None]),
    ],
)
def test_a_dollar_does_not_part_a_line_end(regex: str, expected: list[object]) -> None:
    texts = pa.array(["x\r\n", "x\n", "xb", "x", None])
    assert values(f"x RLIKE '{regex}'", x=texts) == expected
    assert values(f"x NOT RLIKE '{regex}'", x=texts) == [
        value if value in (UNSURE, None) else not value for value in expected
    ]


def test_decimals_compare_exactly_or_are_left_to_spark() -> None:
    amount = pa.array([Decimal("1.50"), Decimal("1.49"), None], pa.decimal128(10, 2))
    size = pa.array([1, 2, 3], pa.int32())
    assert values("amount >= 1.5", amount=amount) == [True, False, None]
    assert values("size > amount", amount=amount, size=size) == [False, True, None]
    with pytest.raises(Untranslatable, match="decimals of so many digits"):
        compiled("a = b", {"a": pa.decimal128(38, 0), "b": pa.decimal128(38, 18)}, ANSI)


def test_a_null_that_is_a_literal_is_passed_over_beside_nan() -> None:
    price = pa.array([1.0, math.nan, None])
    least = values("least(price, CAST(NULL AS double), 2D)", price=price)
    assert least == [1.0, 2.0, 2.0]
    assert values("price <=> CAST(NULL AS double)", price=price) == [False, False, True]
    assert math.isnan(values("greatest(price, NULL)", price=price)[1])
