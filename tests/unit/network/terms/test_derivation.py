import pytest

from streamshed.errors import InvalidExpressionError, InvalidNetworkError
from streamshed.network.document.document import network_to_document, parse_network
from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import network
from streamshed.network.model.query import Query
from streamshed.network.source.sources import rate
from streamshed.network.terms.aggregate import parse_aggregate
from streamshed.network.terms.derivation import Derivation, parse_answer

TICKS = stream("ticks", rate(1), time="timestamp").map(v="value", w="2 * value")


@pytest.mark.parametrize(
    ("text", "calls", "canonical"),
    [
        ("sum(a)/SUM(b)", ["sum(a)", "sum(b)"], "(sum(a) / sum(b))"),
        ("sum(a) - sum(b) - sum( A )", ["sum(a)", "sum(b)"], "((sum(a) - sum(b)) - sum(a))"),
        ("1e3 * (count(*) + .5D) / 4L", ["count(*)"], "((1000.0 * (count(*) + 0.5)) / 4.0)"),
        ("-max(a) - -2.5BD", ["max(a)"], "((0.0 - max(a)) - -2.5)"),
        (
            "count(*) FILTER (WHERE a > 1) / count_if(a > 1)",
            ["count(*) FILTER (WHERE a > 1)"],
            "(count(case when a > 1 then 1 end) / count(case when a > 1 then 1 end))",
        ),
        ("sum(a / (b - 1)) * 2", ["sum(a / (b - 1))"], "(sum(a / (b - 1)) * 2.0)"),
        ("max(a) - 12345678901234567891.50", ["max(a)"], "(max(a) - 12345678901234567891.5)"),
    ],
)
def test_arithmetic_is_read_with_the_calls_it_is_of(text: str, calls: list[str], canonical: str) -> None:
    found = parse_answer(text)
    assert isinstance(found, Derivation)
    assert [str(call) for call in found.calls] == calls
    assert found.canonical == canonical
    assert parse_answer(str(found)) == found
    assert str(found) == text


def test_one_call_is_a_call() -> None:
    assert parse_answer("( (sum(a)) )") == parse_aggregate("sum(a)")
    assert parse_answer("median(a) FILTER (WHERE b)") == parse_aggregate("median(a) FILTER (WHERE b)")


@pytest.mark.parametrize(
    ("text", "problem"),
    {
        "sum(a) / b": "between aggregates there can be \\+ - \\* / and numbers",
        "sum(a) % 2": "between aggregates",
        "sum(a) over (partition by b)": "between aggregates",
        "sum(a) > 1": "between aggregates",
        "1 + 2": "is no aggregate",
        "sum(a) + upper(b)": 'unknown aggregate "upper"',
        "sum(a) / sum(count(b))": "the aggregate count\\(\\)",
        "sum(a) + 0x1F": "between aggregates|cannot",
        " + ".join(["sum(a)"] * 120): "has more than 100 operations",
        "sum(a) +": "something is missing",
        "sum(a) / 1e999": "1e999 is too large a number",
    }.items(),
)
def test_what_is_no_arithmetic_over_calls_is_refused(text: str, problem: str) -> None:
    with pytest.raises(InvalidExpressionError, match=problem):
        parse_answer(text)


def ticks(**aggregates: str) -> Query:
    return TICKS.window("1 minute").agg(**aggregates).query("q")


def test_what_is_computed_are_its_parts() -> None:
    aggregate = ticks(n="count(*)", mean="sum(v) / count(*)", most="max(w)").aggregate
    assert aggregate is not None
    assert [name for name, _ in aggregate.aggregates] == ["n", "mean", "most"]
    assert [name for name, _ in aggregate.calls] == ["n", "mean: sum(v)", "mean: count(*)", "most"]
    assert {name: (part.name, part.number) for name, part in aggregate.parts.items()} == {
        "mean: sum(v)": ("mean", 0),
        "mean: count(*)": ("mean", 1),
    }
    assert [*aggregate.columns][2:] == ["n", "mean", "most"]
    assert aggregate.columns["mean"] == "double"
    assert str(aggregate).startswith("n = count(*), mean = sum(v) / count(*), most = max(w) over")


def test_queries_that_ask_the_same_arithmetic_are_one() -> None:
    same = ticks(x="SUM(v)/count(1)"), ticks(y="(sum( v )) / count(*)")
    assert same[0].definition_id == same[1].definition_id
    assert same[0].definition_id != ticks(x="count(*) / sum(v)").definition_id


def test_what_is_above_depends_on_how_it_is_worked_out() -> None:
    def above(text: str) -> Query:
        inner = TICKS.window("1 minute").agg(x=text, n="count(w)")
        return inner.window("1 hour").agg(most="max(x)").query("q", mode="exact")

    assert above("sum(v) / count(*)").definition_id == above("SUM(v) / count(1)").definition_id
    assert above("sum(v) / count(*)").definition_id != above("count(*) / sum(v)").definition_id
    aggregate = above("sum(v) / count(*)").rows
    assert aggregate.stream == TICKS.stream


def test_columns_of_its_parts_are_checked() -> None:
    with pytest.raises(InvalidNetworkError, match='unknown column "vv"'):
        ticks(x="sum(v) / sum(vv)")
    inner = TICKS.window("1 minute").agg(x="approx_count_distinct(v) / count(*)")
    with pytest.raises(InvalidNetworkError, match="estimate even when nothing is shed"):
        inner.window("1 hour").agg(most="max(x)").query("q", mode="exact")


def test_it_is_written_into_documents_as_it_was_given() -> None:
    asked = network(ticks(x="100.0 * count_if(v > 3) / count(*)", y="sum(v) FILTER (WHERE w > 1)"))
    written = network_to_document(asked)
    assert "x: 100.0 * count_if(v > 3) / count(*)" in written
    assert parse_network(written).network == asked
