import math
from dataclasses import replace
from typing import Any

import pytest
from scipy.stats import binom
from scipy.stats import t as students

from streamshed.answering.answer.answering import Answering
from streamshed.answering.table.answer_schema import ANSWER, LATE, ROW, UNREADABLE, arrow_schema
from streamshed.answering.table.output import Output, Shape
from streamshed.answering.table.shed_interval import ShedInterval
from streamshed.answering.table.value_kind import Carriage, Notation, ValueKind
from streamshed.network.terms.aggregate import AggregateKind
from tests.unit.answering.partials import SECOND, kept, partials

COUNT = Shape(AggregateKind.COUNT, counts_rows=True, value=None, key_notations=())
NUMBER = ValueKind(Carriage.DOUBLE, Notation.NUMBER)


def of_values(function: AggregateKind, value: ValueKind = NUMBER) -> Shape:
    return Shape(function, counts_rows=False, value=value, key_notations=())


def output(shape: Shape = COUNT, *, query: str = "q", aggregate: str = "a", slot: int = 0) -> Output:
    return Output(query, "s", aggregate, shape, definition_id=7, slot=slot)


def told(outputs: list[Output], *rows: dict[str, Any], shed: list[ShedInterval] | None = None) -> list[dict[str, Any]]:
    batches = Answering(outputs, confidence=0.95).answers(partials(*rows), shed or [])
    assert all(batch.schema == arrow_schema() for batch in batches)
    return [row for batch in batches for row in batch.to_pylist()]


def test_what_nothing_was_shed_of_is_exact() -> None:
    (answer,) = told([output()], {"rows": 3, "rows_weighted": 3.0})
    assert (answer["kind"], answer["query"], answer["aggregate"], answer["key"]) == (ANSWER, "q", "a", [])
    assert (answer["value"], answer["value_text"], answer["lower"], answer["upper"]) == (3.0, "3", 3.0, 3.0)
    assert (answer["exact"], answer["confidence"], answer["standard_error"]) == (True, 1.0, 0.0)
    assert (answer["sampling_rate"], answer["low"], answer["reason"]) == (1.0, False, None)


def test_a_sampled_count_is_scaled() -> None:
    """100 rows kept at 0.25 stand for 400, give or take sqrt(100 · 0.75) / 0.25 = 34.64."""
    (answer,) = told([output()], kept(0.25, [1.0] * 100))
    assert (answer["value"], answer["value_text"], answer["exact"]) == (400.0, None, False)
    assert answer["standard_error"] == pytest.approx(34.641, abs=1e-3)
    assert binom.cdf(100, round(answer["upper"]), 0.25) == pytest.approx(0.025, rel=0.02)
    assert binom.sf(99, round(answer["lower"]), 0.25) == pytest.approx(0.025, rel=0.02)
    assert (answer["rows_used"], answer["rows_estimated"], answer["sampling_rate"]) == (100, 400.0, 0.25)
    assert (answer["low"], answer["reason"]) == (False, "sampled")


def came(rows: int, rate: float, counted: float) -> dict[str, float]:
    """What is known of rows that came to a function: so many of them are in the sample, and so many were counted."""
    excess = (1 - rate) / rate**2
    return {
        "counted_weighted": counted,
        "counted_excess": 0.0,
        "sampled_weighted": rows / rate,
        "sampled_excess": rows * excess,
        "sampled_excess_squared": rows * excess**2,
    }


@pytest.mark.parametrize("shape", [COUNT, of_values(AggregateKind.SUM)], ids=["count", "sum"])
def test_a_count_is_corrected_by_how_many_rows_came(shape: Shape) -> None:
    """300 of 600 rows at 0.25 stand for 1,200 of 2,400; 2,500 came, so 50 are missing. Each adds 3 to the variance."""
    passed = kept(0.25, [1.0] * 300) | {"rows_excess_squared": 300 * 12.0**2}
    (answer,) = told([output(shape)], passed | came(600, 0.25, 2500.0))
    assert answer["value"] == pytest.approx(1250.0)
    assert answer["standard_error"] == pytest.approx(math.sqrt(600 * 3))
    assert answer["upper"] - 1250 == pytest.approx(students.ppf(0.975, 599) * math.sqrt(600 * 3))
    assert 1250 - answer["lower"] == pytest.approx(answer["upper"] - 1250)
    assert (answer["rows_used"], answer["rows_estimated"]) == (300, 1200.0)
    assert (answer["exact"], answer["low"], answer["reason"]) == (False, False, "sampled")


def test_where_few_rows_tell_what_those_that_came_are_worth_a_count_stays_as_it_is() -> None:
    passed = kept(0.25, [1.0] * 20) | {"rows_excess_squared": 20 * 12.0**2}
    (alone,) = told([output()], passed)
    (answer,) = told([output()], passed | came(40, 0.25, 200.0))
    assert answer == alone
    assert answer["value"] == 80.0


def test_an_average_is_not_corrected() -> None:
    passed = kept(0.25, [1.0, 3.0] * 150)
    shape = of_values(AggregateKind.AVG)
    assert told([output(shape)], passed | came(600, 0.25, 2500.0)) == told([output(shape)], passed)


def test_a_window_without_kept_rows_has_an_upper_bound() -> None:
    shed = [ShedInterval(stream="s", start=5 * SECOND, until=6 * SECOND, sampling_rates={"7.0": 0.1})]
    nothing = {"rows": 0, "present": 0, "rows_weighted": 0.0, "present_weighted": 0.0}
    (answer,) = told([output()], nothing, shed=shed)
    assert (answer["value"], answer["lower"], answer["reason"]) == (0.0, 0.0, "no row kept")
    assert answer["upper"] == pytest.approx(math.log(1 / 40) / math.log(0.9))  # (1 − 0.1)^N = 1/40
    assert (answer["exact"], answer["low"], answer["sampling_rate"]) == (False, False, 0.1)


def test_a_group_that_is_seen_by_one_row_may_be_that_row() -> None:
    """Groups of which no row was kept have no answer, so that those that have one were seen by chance."""
    grouped = replace(COUNT, key_notations=(Notation.TEXT,))
    seen = {**kept(0.01, [1.0]), "key_text": "a"}
    assert [told([output(shape)], seen)[0]["lower"] for shape in (grouped, COUNT)] == pytest.approx(
        [1.0, 2.52], rel=0.01
    )


def test_few_rows_are_enough_for_a_count_and_not_for_a_sum() -> None:
    few = kept(0.25, [1.0] * 3)
    sums = [of_values(function) for function in (AggregateKind.SUM, AggregateKind.STDDEV)]
    assert [told([output(shape)], few)[0]["low"] for shape in (COUNT, *sums)] == [False, True, True]
    assert [told([output(sums[0])], kept(0.25, [1.0] * rows))[0]["low"] for rows in (14, 15)] == [True, False]


@pytest.mark.parametrize(
    ("start", "until", "exact"), [(10, 20, True), (9.999999, 20, False), (-5, -0.000001, True), (-5, 0, False)]
)
def test_an_answer_is_exact_if_none_of_its_window_was_shed(start: float, until: float, *, exact: bool) -> None:
    first, last = round(start * SECOND), round(until * SECOND)
    interval = ShedInterval(stream="s", start=first, until=last, sampling_rates={"7.0": 0.5})
    elsewhere = ShedInterval(stream="s", start=0, until=10 * SECOND, sampling_rates={"7.1": 0.5, "8.0": 0.5})
    (answer,) = told([output()], {}, shed=[elsewhere, interval])
    assert answer["exact"] is exact


def test_sums_and_averages_of_nothing_are_null_and_counts_zero() -> None:
    nothing = {"present": 0, "present_weighted": 0.0, "total": None, "total_weighted": None}
    functions = [AggregateKind.SUM, AggregateKind.AVG, AggregateKind.MIN, AggregateKind.COUNT]
    rows = told([output(of_values(function), aggregate=str(function)) for function in functions], nothing)
    values = {row["aggregate"]: (row["value"], row["value_text"], row["lower"]) for row in rows}
    assert values == {"sum": (None,) * 3, "avg": (None,) * 3, "min": (None,) * 3, "count": (0.0, "0", 0.0)}


def test_whole_sums_are_exact_beyond_what_a_double_holds() -> None:
    whole = of_values(AggregateKind.SUM, ValueKind(Carriage.LONG, Notation.NUMBER))
    (answer,) = told([output(whole)], {"sum_high": 2**40, "sum_low": 1, "total_weighted": 0.0})
    assert answer["value_text"] == str(2**72 + 1)
    assert answer["value"] == float(2**72)


def test_extremes_of_times_are_written_as_times() -> None:
    latest = of_values(AggregateKind.MAX, ValueKind(Carriage.LONG, Notation.TIMESTAMP))
    (answer,) = told([output(latest)], {"greatest_long": 1_500_000, "greatest_number": 1_500_000.0})
    assert (answer["value"], answer["value_text"]) == (1.5, "1970-01-01T00:00:01.500000Z")


def test_nan_is_a_number_and_not_a_null() -> None:
    (answer,) = told([output(of_values(AggregateKind.SUM))], {"total": math.nan, "total_weighted": math.nan})
    assert math.isnan(answer["value"])
    assert math.isnan(answer["lower"])
    assert answer["value_text"] == "NaN"


def test_equal_queries_are_answered_each_under_its_name() -> None:
    rows = told([output(query="one"), output(query="two"), output(query="one", slot=1)], {}, {"slot": 1})
    assert sorted(row["query"] for row in rows) == ["one", "one", "two"]


def test_queries_that_are_gone_are_not_answered() -> None:
    assert told([output()], {"definition_id": 8}, {"slot": 3}) == []
    assert told([], {}) == []


def test_late_pairs_are_told_once_per_query_if_there_are_any() -> None:
    outputs = [output(), output(aggregate="b"), output(slot=1, aggregate="c"), output(query="twin")]
    late = {"kind": LATE, "rows": 5, "rows_weighted": 5.0}
    rows = told(outputs, late, {**late, "slot": 1}, {**late, "rows": 0})
    assert [(row["kind"], row["query"], row["value"], row["rows_used"]) for row in rows] == [
        (LATE, "q", 5.0, 5),
        (LATE, "twin", 5.0, 5),
    ]
    assert {row["aggregate"] for row in rows} == {None}


def test_rows_are_delivered_with_what_they_stand_for() -> None:
    row = {"kind": ROW, "key_text": '{"v":1}', "rows_weighted": 4.0, "greatest_weight": 4.0}
    (found,) = told([output()], row)
    assert (found["kind"], found["value_text"], found["rows_estimated"]) == (ROW, '{"v":1}', 4.0)
    assert (found["sampling_rate"], found["exact"], found["window_end"]) == (0.25, False, None)


def test_unreadable_rows_name_their_stream_and_reason() -> None:
    described = "packets\x1etext is null\x1efile#3\x1ea\x1eb"
    (found,) = told([], {"kind": UNREADABLE, "key_text": described, "definition_id": 0})
    assert (found["query"], found["reason"], found["key"]) == ("packets", "text is null", ["file#3"])
    assert (found["value_text"], found["value"]) == ("a\x1eb", 1.0)
