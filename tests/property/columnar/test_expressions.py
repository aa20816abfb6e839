"""Formulas of expressions against Python's own integers, regular expressions and calendar."""

import math
import re
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamshed.columnar.expressions.zone import zone
from streamshed.columnar.untranslatable import Untranslatable
from tests.unit.columnar.evaluated import ANSI, LAX, UNSURE, values

BITS = st.sampled_from([8, 16, 32, 64])
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
INSTANTS = st.integers(0, 2_114_380_799_999_999)
"""Microseconds from 1970 to 2036."""
NEAR = st.integers(-7_200_000_000, 7_200_000_000)
"""Microseconds from a change of clocks: up to two hours."""
CHARACTERS = st.text(alphabet="ab%_\nß😀", max_size=6)
OPERATORS = {"+": int.__add__, "-": int.__sub__, "*": int.__mul__}


@st.composite
def _pairs(draw: st.DrawFn) -> tuple[int, list[tuple[int, int]]]:
    bits = draw(BITS)
    limit = 1 << (bits - 1)
    edges = st.sampled_from([-limit, -limit + 1, -1, 0, 1, 2, limit - 1])
    number = edges | st.integers(-limit, limit - 1)
    return bits, draw(st.lists(st.tuples(number, number), min_size=1, max_size=20))


@given(_pairs(), st.sampled_from(sorted(OPERATORS)))
def test_whole_numbers_that_overflow_are_unsure_under_ansi_and_wrap_else(
    pairs: tuple[int, list[tuple[int, int]]], operator: str
) -> None:
    bits, numbers = pairs
    columns = {
        name: pa.array(column, f"int{bits}") for name, column in zip("ab", zip(*numbers, strict=True), strict=True)
    }
    limit = 1 << (bits - 1)
    exact = [OPERATORS[operator](first, second) for first, second in numbers]
    fitting = [value if -limit <= value < limit else UNSURE for value in exact]
    wrapped = [(value + limit) % (2 * limit) - limit for value in exact]
    assert values(f"a {operator} b", ANSI, **columns) == fitting
    assert values(f"a {operator} b", LAX, **columns) == wrapped


@given(_pairs())
def test_division_cuts_off_toward_zero_and_the_remainder_has_the_sign_of_the_dividend(
    pairs: tuple[int, list[tuple[int, int]]],
) -> None:
    bits, numbers = pairs
    columns = {
        name: pa.array(column, f"int{bits}") for name, column in zip("ab", zip(*numbers, strict=True), strict=True)
    }
    quotients = [None if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1) for a, b in numbers]
    remainders = [None if q is None else a - q * b for q, (a, b) in zip(quotients, numbers, strict=True)]
    quotients = [UNSURE if q == 1 << 63 else q for q in quotients]  # type: ignore[misc]
    assert values("a div b", LAX, **columns) == quotients
    assert values("a % b", LAX, **columns) == remainders


def _order(value: float) -> tuple[bool, float]:
    """Spark's: NaN above everything."""
    return (True, 0.0) if math.isnan(value) else (False, value)


@given(st.lists(st.tuples(st.floats(width=32), st.floats(width=32)), min_size=1, max_size=20), st.booleans())
def test_floating_numbers_compare_in_sparks_order(pairs: list[tuple[float, float]], is_double: bool) -> None:
    kind = pa.float64() if is_double else pa.float32()
    columns = {"a": pa.array([a for a, _ in pairs], kind), "b": pa.array([b for _, b in pairs], kind)}
    orders = [(_order(a), _order(b)) for a, b in pairs]
    assert values("a < b", **columns) == [a < b for a, b in orders]
    assert values("a >= b", **columns) == [a >= b for a, b in orders]
    assert values("a = b", **columns) == [a == b for a, b in orders]
    assert values("a != b", **columns) == [a != b for a, b in orders]
    assert [_order(value) for value in values("greatest(a, b)", **columns)] == [max(a, b) for a, b in orders]
    assert [_order(value) for value in values("least(a, b)", **columns)] == [min(a, b) for a, b in orders]


@given(st.lists(CHARACTERS, min_size=1), CHARACTERS)
def test_like_matches_what_its_regular_expression_does(texts: list[str], pattern: str) -> None:
    regex = "".join({"%": ".*", "_": "."}.get(character, re.escape(character)) for character in pattern)
    expected = [re.fullmatch(regex, text, re.DOTALL) is not None for text in texts]
    assert values(f"x LIKE '{pattern}'", x=pa.array(texts)) == expected


PIECES = st.sampled_from(["a", "b", "ß", "[ab]", "[^b]", ".", "(a|bß)", "(ab)", "a|b"])
REPEATS = st.sampled_from(["", "", "*", "+", "?", "{2}", "{1,2}"])


@given(
    st.lists(st.text(alphabet="abß", max_size=6), min_size=1),
    st.lists(st.tuples(PIECES, REPEATS), max_size=5),
    st.sampled_from([("", ""), ("^", ""), ("", "$"), ("^", "$")]),
)
def test_regular_expressions_that_are_taken_match_what_they_say(
    texts: list[str], pieces: list[tuple[str, str]], anchors: tuple[str, str]
) -> None:
    pattern = anchors[0] + "".join(piece + repeat for piece, repeat in pieces) + anchors[1]
    expected = [re.search(pattern, text) is not None for text in texts]
    try:
        assert values(f"x RLIKE '{pattern}'", x=pa.array(texts)) == expected
    except Untranslatable:
        assert anchors != ("", "")
        assert "a|b" in {piece for piece, _ in pieces}


@given(st.lists(CHARACTERS, min_size=1), st.integers(-8, 8), st.integers(-3, 8))
def test_substring_counts_characters_from_either_end(texts: list[str], start: int, length: int) -> None:
    def substring(text: str) -> str:
        """UTF8String.substringSQL."""
        first = start - 1 if start > 0 else len(text) + start if start < 0 else 0
        return text[max(0, first) : max(0, first + length)]

    assert values(f"substring(x, {start}, {length})", x=pa.array(texts)) == [substring(text) for text in texts]


@pytest.mark.parametrize("name", ["Europe/Berlin", "America/Sao_Paulo", "Australia/Lord_Howe", "Africa/Casablanca"])
@given(st.lists(INSTANTS, max_size=30), st.lists(st.tuples(st.integers(0, 10_000), NEAR), min_size=1, max_size=30))
def test_local_time_is_that_of_the_time_zone_database(
    name: str, instants: list[int], near_changes: list[tuple[int, int]]
) -> None:
    hours, region = zone(name), ZoneInfo(name)
    instants += [int(hours.changes[number % len(hours.changes)]) + distance for number, distance in near_changes]
    local = [(EPOCH + timedelta(microseconds=instant)).astimezone(region) for instant in instants]
    shown = [(time.replace(tzinfo=UTC) - EPOCH) // timedelta(microseconds=1) for time in local]
    assert hours.local(np.array(instants)).tolist() == shown
    first = [(time.replace(fold=0).astimezone(UTC) - EPOCH) // timedelta(microseconds=1) for time in local]
    assert hours.instants(np.array(shown)).tolist() == first


@given(st.lists(st.dates(), min_size=1, max_size=30))
def test_fields_of_dates_are_those_of_the_calendar(days: list[datetime]) -> None:
    column = pa.array(days, pa.date32())
    assert values("year(d) * 10000 + month(d) * 100 + day(d)", d=column) == [int(f"{day:%Y%m%d}") for day in days]
    assert values("dayofyear(d)", d=column) == [day.timetuple().tm_yday for day in days]
    assert values("weekofyear(d)", d=column) == [day.isocalendar().week for day in days]
    assert values("dayofweek(d)", d=column) == [day.isoweekday() % 7 + 1 for day in days]
    assert values("quarter(d)", d=column) == [(day.month + 2) // 3 for day in days]
