"""Answers that follow from others: their values, what they claim, and which partials they need together."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from streamshed.answering.answer.answering import Answering
from streamshed.answering.derive.derived_answers import whole_groups
from streamshed.answering.estimate.value_ranges import UsualRange
from streamshed.answering.table.output import Output, Shape
from streamshed.answering.table.value_kind import Carriage, Notation, ValueKind
from streamshed.network.model.grouping import PartOf
from streamshed.network.terms.aggregate import AggregateKind
from streamshed.network.terms.derivation import Derivation, parse_answer
from tests.unit.answering.partials import SECOND, kept, partials

DECIMAL = ValueKind(Carriage.DECIMAL, Notation.NUMBER, 8)
DOUBLE, LONG = ValueKind(Carriage.DOUBLE, Notation.NUMBER), ValueKind(Carriage.LONG, Notation.NUMBER)


def outputs(text: str, value: ValueKind = DOUBLE, *, keys: int = 0) -> list[Output]:
    """The parts of one answer, each argument in a slot of its own."""
    derivation = parse_answer(text)
    assert isinstance(derivation, Derivation)
    slots: dict[str, int] = {}
    found = []
    for number, call in enumerate(derivation.calls):
        slot = 0 if call.argument is None else slots.setdefault(call.argument.canonical, len(slots))
        shape = Shape(call.kind, call.argument is None, value, (Notation.TEXT,) * keys, parts=len(derivation.calls))
        found.append(Output("q", "s", f"a: {call}", shape, 7, slot, part=PartOf("a", derivation, number)))
    return found


def told(asked: list[Output], *rows: dict[str, Any]) -> list[dict[str, Any]]:
    batches = Answering(asked, confidence=0.95).answers(partials(*rows))
    return [row for batch in batches for row in batch.to_pylist()]


def sums(slot: int, total: int, start: int = 0, **more: Any) -> dict[str, Any]:
    """A sum of whole numbers."""
    low, high = total % 2**32, total // 2**32
    return {"slot": slot, "window_start": start, "total": float(total), "total_weighted": float(total)} | {
        "sum_low": low,
        "sum_high": high,
        **more,
    }


def test_only_what_was_asked_for_is_answered_window_by_window() -> None:
    plain = Output("q", "s", "n", Shape(AggregateKind.COUNT, True, None, ()), 7, 0)
    rows = [sums(slot, total, start) for slot, start, total in [(0, 1, 9), (1, 0, 4), (0, 0, 2), (1, 1, 3)]]
    answers = told([plain, *outputs("sum(a) / sum(b)", LONG)], *rows)
    found = {(row["aggregate"], row["window_start"].microsecond): row["value"] for row in answers}
    assert found == {("n", 0): 1.0, ("n", 1): 1.0, ("a", 0): 0.5, ("a", 1): 3.0}
    exact = next(row for row in answers if row["aggregate"] == "a")
    assert (exact["exact"], exact["confidence"], exact["standard_error"], exact["reason"]) == (True, 1.0, 0.0, None)
    assert (exact["lower"], exact["upper"], exact["value_text"]) == (0.5, 0.5, "0.5")


@pytest.mark.parametrize(
    ("text", "a", "b", "value"),
    [
        ("sum(a) / sum(b)", 5, 0, None),
        ("sum(a) + sum(b)", None, 3, None),
        ("sum(a) - sum(b)", 2**60 + 1, 2**60, 1.0),
        ("1 / (sum(a) - sum(b))", 2**60 + 2, 2**60, 0.5),
        ("1 / (sum(a) - sum(b))", 2**60, 2**60, None),
        ("sum(a) * sum(b) / sum(b)", 2**54 + 2, 3, float(2**54 + 2)),
        ("-sum(a) * 2", 3, 1, -6.0),
    ],
)
def test_exact_answers_are_right_to_the_last_digit(text: str, a: int | None, b: int, value: float | None) -> None:
    asked = outputs(text, LONG)
    rows = [sums(0, 0, present=0, present_weighted=0.0) if a is None else sums(0, a), sums(1, b)]
    [answer] = told(asked, *rows[: max(one.slot for one in asked) + 1])
    assert (answer["value"], answer["exact"]) == (value, True)
    assert answer["lower"] == answer["upper"] == value
    assert (None if answer["value_text"] is None else float(answer["value_text"])) == value


@pytest.mark.parametrize(
    ("text", "a", "b"),
    [
        ("sum(a) * sum(a) - sum(b) * sum(b)", 3037000499, 3037000498),
        ("sum(a) * 2", 2**54 + 7, 0),
        ("sum(a) - 27021597764222980", 27021597764222982, 0),
        ("sum(a) * sum(b) * 12345678901234567890123 - sum(b)", 10**17 + 1, 7),
        ("-(sum(a) - sum(b)) * sum(a)", -(2**60), 2**61 + 1),
        ("sum(a) * 1000000", 10**9, 0),
    ],
)
def test_arithmetic_of_integers_has_all_digits(text: str, a: int, b: int) -> None:
    """As Python's own integers."""
    asked = outputs(text, LONG)
    [answer] = told(asked, *[sums(0, a), sums(1, b)][: max(one.slot for one in asked) + 1])
    expected = eval(text, {"sum": lambda number: number, "a": a, "b": b})
    assert (answer["exact"], answer["value_text"]) == (True, str(expected))
    assert answer["lower"] == answer["value"] == answer["upper"] == float(expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("max(a) - 12345678901234567890", "0.12345679"),
        ("max(a) - 12345678901234567890.12345678", "0.00000001"),
        ("max(a) * 0", "0.00000000"),
        ("-max(a) * 0", "0.00000000"),
        ("max(a) * 0.1", "1234567890123456789.012345679"),
    ],
)
def test_arithmetic_of_decimals_has_all_digits(text: str, expected: str) -> None:
    greatest = Decimal(1234567890123456789012345679)
    row = {"greatest_decimal": greatest, "greatest_number": float(greatest.scaleb(-8))}
    [answer] = told(outputs(text, DECIMAL), row)
    assert (answer["exact"], answer["value_text"], answer["value"]) == (True, expected, float(expected))


def test_what_is_divided_is_rounded_once() -> None:
    a, b = 3037000499, 3037000498
    [answer] = told(outputs("(sum(a) * sum(a) - sum(b) * sum(b)) / sum(b)", LONG), sums(0, a), sums(1, b))
    assert answer["value"] == float(Fraction(a * a - b * b, b))
    [share] = told(outputs("sum(a) * 0.1 / 3", LONG), sums(0, 3))
    assert share["value_text"] == "0.1"


def test_doubles_are_computed_in_doubles() -> None:
    largest = 2.0**62
    [answer] = told(outputs("max(a) - 4611686018427387904"), {"greatest_number": largest})
    assert (answer["value"], answer["value_text"]) == (0.0, "0")


@pytest.mark.parametrize(("unscaled", "count"), [(2 * 10**27 + 1, 3), (-(2 * 10**27) - 1, 3), (10**20 + 5, 8)])
def test_averages_of_long_decimals_have_the_digits_of_sparks(unscaled: int, count: int) -> None:
    """Four digits more after the point than the values have, halves away from 0."""
    shape = Shape(AggregateKind.AVG, False, DECIMAL, ())
    total = float(Fraction(unscaled, 10**8))
    high, low = divmod(unscaled, 10**20)
    row = {"sum_decimal_high": Decimal(high), "sum_decimal_low": Decimal(low), "total": total, "total_weighted": total}
    [answer] = told([Output("q", "s", "a", shape, 7, 0)], {**row, "present": count, "present_weighted": float(count)})
    with localcontext(prec=60):
        expected = (Decimal(unscaled).scaleb(-8) / count).quantize(Decimal("1e-12"), ROUND_HALF_UP)
    assert (answer["exact"], answer["value_text"]) == (True, format(expected, "f"))
    assert answer["value"] == float(expected)


def test_a_share_of_a_sample_is_as_near_as_its_rows_tell() -> None:
    """Of 400 rows kept at 0.25, 100 pass: 25 %, give or take sqrt(0.25 · 0.75 · 0.75 / 400) = 1.875 %."""
    asked = outputs("100 * count(a) / count(*)")
    marks = {**kept(0.25, np.ones(100)), "rows": 400, "rows_weighted": 1600.0, "rows_excess": 400 * 12.0}
    [answer] = told(asked, marks)
    assert (answer["value"], answer["value_text"], answer["exact"]) == (25.0, None, False)
    assert answer["standard_error"] == pytest.approx(1.875)
    assert answer["upper"] - 25.0 == pytest.approx(25.0 - answer["lower"])
    assert answer["upper"] - 25.0 == pytest.approx(1.984 * 1.875, rel=0.01)
    assert (answer["confidence"], answer["rows_used"], answer["low"], answer["reason"]) == (0.95, 400, False, "sampled")


def test_of_few_rows_bounds_are_what_the_parts_allow() -> None:
    """Each part holds with 0.975, so both hold with 0.95: the quotient is between those of their ends."""
    asked = outputs("count(a) / count(b)")
    rows = [{**kept(0.5, np.ones(n)), "slot": slot, "rows": 12, "rows_weighted": 24.0} for slot, n in ((0, 5), (1, 12))]
    alone = [
        Output("q", "s", str(slot), Shape(AggregateKind.COUNT, False, DOUBLE, (), parts=2), 7, slot) for slot in (0, 1)
    ]
    of_a, of_b = told(alone, *rows)
    [answer] = told(asked, *rows)
    assert answer["value"] == pytest.approx(5 / 12)
    assert answer["lower"] == pytest.approx(of_a["lower"] / of_b["upper"])
    assert answer["upper"] == pytest.approx(of_a["upper"] / of_b["lower"])
    assert (answer["confidence"], answer["standard_error"]) == (0.95, None)


def test_of_values_that_hardly_differ_no_digits_are_made_up() -> None:
    """Sum and count go together so closely that nothing is left of the variance of their quotient."""
    chance = np.random.default_rng(1)
    values = 1.0 + 1e-9 * chance.normal(size=400)
    [answer] = told(outputs("sum(a) / count(a)"), kept(0.25, values))
    assert answer["value"] == pytest.approx(1.0)
    assert answer["standard_error"] is None
    assert answer["lower"] < 0.9
    assert answer["upper"] > 1.1


def test_where_all_values_of_a_part_are_alike_bounds_are_what_the_parts_allow() -> None:
    """What is usual bounds the part, and is no variance: the sum's alone would be too little."""
    asked = outputs("avg(a) + sum(b)")
    rows = [{**kept(0.25, values), "slot": slot} for slot, values in ((0, [5.0] * 100), (1, [1.0, 2.0] * 50))]
    usual = {"7.0": UsualRange(distance=2.0, ranged=20.0)}
    alone = [Output("q", "s", str(one.slot), one.shape, 7, one.slot) for one in asked]
    of_a, of_b = (
        table.to_pylist()[0] for table in Answering(alone, confidence=0.95).answers(partials(*rows), usual_ranges=usual)
    )
    [table] = Answering(asked, confidence=0.95).answers(partials(*rows), usual_ranges=usual)
    [answer] = table.to_pylist()
    assert of_a["standard_error"] is not None
    assert (answer["value"], answer["standard_error"]) == (605.0, None)
    assert answer["lower"] == pytest.approx(of_a["lower"] + of_b["lower"])
    assert answer["upper"] == pytest.approx(of_a["upper"] + of_b["upper"])


def test_what_a_divisor_may_be_bounds_nothing() -> None:
    rows = [{**kept(0.5, values), "slot": slot} for slot, values in ((0, [1.0] * 60), (1, [1.0] * 31 + [-1.0] * 29))]
    [answer] = told(outputs("sum(a) / sum(b)"), *rows)
    assert (answer["value"], answer["lower"], answer["upper"]) == (30.0, None, None)


def test_a_part_without_its_window_is_no_answer() -> None:
    with pytest.raises(ValueError, match='answers of q, "a": a part has other windows'):
        told(outputs("sum(a) / sum(b)", LONG), sums(0, 1), sums(1, 2, SECOND))


def test_only_where_parts_lie_apart_partials_have_to_come_together() -> None:
    apart, alike = outputs("sum(a) / sum(b)"), outputs("sum(a) / count(*)")
    assert Answering(apart, confidence=0.95).derived.definitions == (7,)
    assert Answering(alike, confidence=0.95).derived.definitions == ()
    [answer] = told(alike, {**kept(1.0, [1.0, 2.0, 6.0])})
    assert (answer["value"], answer["exact"]) == (3.0, True)


def test_partials_of_a_group_are_brought_together_and_others_pass() -> None:
    batches = [pa.record_batch({"definition_id": ids, "n": ids}) for ids in ([1, 2, 1], [2, 3], [1])]
    first, second, waited = whole_groups(batches, [1])
    assert [batch.column("n").to_pylist() for batch in (first, second, waited)] == [[2], [2, 3], [1, 1, 1]]
    assert list(whole_groups(batches, [])) == batches
