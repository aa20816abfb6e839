import pytest

from streamshed.errors import InvalidExpressionError
from streamshed.network.sql.expression import parse_expression
from streamshed.network.terms.aggregate import AggregateCall, AggregateKind, parse_aggregate, user_aggregate
from streamshed.network.terms.declared_types import aggregate_type


@pytest.mark.parametrize(
    ("text", "kind", "argument"),
    [
        ("sum(size)", AggregateKind.SUM, "size"),
        ("SUM( size / 1024 )", AggregateKind.SUM, "size / 1024"),
        ("count(*)", AggregateKind.COUNT, None),
        ("count(1)", AggregateKind.COUNT, None),
        ("count('x')", AggregateKind.COUNT, None),
        ("count(size)", AggregateKind.COUNT, "size"),
        ("avg(a)", AggregateKind.AVG, "a"),
        ("mean(a)", AggregateKind.AVG, "a"),
        ("min(a)", AggregateKind.MIN, "a"),
        ("max(greatest(a, b))", AggregateKind.MAX, "greatest(a, b)"),
        ("variance(a)", AggregateKind.VARIANCE, "a"),
        ("var_samp(a)", AggregateKind.VARIANCE, "a"),
        ("var_pop(a)", AggregateKind.VAR_POP, "a"),
        ("stddev(a)", AggregateKind.STDDEV, "a"),
        ("std(a)", AggregateKind.STDDEV, "a"),
        ("stddev_samp(a)", AggregateKind.STDDEV, "a"),
        ("stddev_pop(a)", AggregateKind.STDDEV_POP, "a"),
        ("sum(1)", AggregateKind.SUM, "1"),
    ],
)
def test_calls_are_read(text: str, kind: AggregateKind, argument: str | None) -> None:
    expected = None if argument is None else parse_expression(argument)
    assert parse_aggregate(text) == AggregateCall(kind, expected)


@pytest.mark.parametrize(
    ("text", "problem"),
    {
        "smu(size)": 'unknown aggregate "smu" \\(did you mean "sum"\\?\\) in "smu\\(size\\)"',
        "mode(size)": "the aggregate mode .* is not supported: group by the value .*; known are: count, sum",
        "max_by(host, size)": "max_by .* is not supported: write `max\\(y\\)` .* or write an aggregate of your own",
        "bit_xor(size)": "bit_xor .* is not supported: write an aggregate of your own",
        "sum(distinct host)": "DISTINCT is for count\\(DISTINCT ...\\), not for sum",
        "count(distinct a, b)": "has several arguments: count\\(DISTINCT ...\\) takes one",
        "count(distinct *)": "has no meaning",
        "sum(a) / sum(b)": "is more than one call",
        "sum(a) + 1": "is more than one call",
        "sum(a) filter (where b) + 1": "between aggregates there can be",
        "sum(a) filter (where)": "unexpected",
        "sum(a) filter (where sum(b) > 1)": "the aggregate sum\\(\\)",
        "sum(a) filter (b)": "is more than one call",
        "count_if(a, b)": "has several arguments: count_if takes one",
        "bool_or(*)": "bool_or\\(\\*\\) has no meaning",
        "sum(a) over (partition by b)": "is more than one call",
        "sum(a, b)": "has several arguments: sum takes one",
        "median(a, 0.9)": "has several arguments: median takes one",
        "percentile_approx(a, b, 0.9)": "has several arguments: percentile_approx takes a value and a share",
        "percentile_approx(a)": "takes a value and a share between 0 and 1, a number, such as percent",
        "percentile_approx(a, b)": "takes a value and a share between 0 and 1, a number",
        "percentile_approx(a, 1.5)": "takes a share between 0 and 1, such as 0.95, got 1.5",
        "approx_percentile(a, -0.5)": "takes a value and a share between 0 and 1",
        "percentile_approx(a, 1L)": "takes a value and a share between 0 and 1, a number",
        "percentile_approx(a, 0.5X)": "takes a value and a share between 0 and 1, a number",
        "percentile_approx(a, 0x1)": "takes a value and a share between 0 and 1, a number",
        "percentile_approx(a, ²)": "takes a value and a share between 0 and 1, a number",
        "percentile_approx(a, 1e39F)": "takes a share between 0 and 1, such as 0.95, got inf",
        "percentile_approx(greatest(a, 0.5))": "takes a value and a share between 0 and 1, a number",
        "sum()": "has no argument: what should sum aggregate?",
        "count()": "write count\\(\\*\\) to count rows",
        "sum(*)": "sum\\(\\*\\) has no meaning",
        "sum(max(a))": "the aggregate max\\(\\)",
        "size": 'is no aggregate: write a call such as "sum\\(size\\)"',
        "upper(a)": 'unknown aggregate "upper"',
        "sum(a": "is never closed",
    }.items(),
)
def test_what_is_no_supported_call_is_refused(text: str, problem: str) -> None:
    with pytest.raises(InvalidExpressionError, match=problem):
        parse_aggregate(text)


@pytest.mark.parametrize(
    ("text", "share"),
    [("median(a)", 0.5), ("percentile_approx(a + b, 0.95)", 0.95), ("approx_percentile(coalesce(a, 0), 0.50)", 0.5)],
)
def test_quantiles_have_a_share(text: str, share: float) -> None:
    call = parse_aggregate(text)
    assert (call.kind, call.share) == (AggregateKind.QUANTILE, share)
    assert parse_aggregate(str(call)) == call
    assert parse_aggregate("median(a)") == parse_aggregate("percentile_approx(A, 0.50)")


@pytest.mark.parametrize(
    ("number", "share"),
    {
        "0.5D": 0.5,
        "0.95d": 0.95,
        "0.95BD": 0.95,
        "0.1F": 0.10000000149011612,
        ".25": 0.25,
        ".25D": 0.25,
        "5e-1": 0.5,
        "5E-1bd": 0.5,
    }.items(),
)
def test_a_share_is_read_as_spark_reads_numbers(number: str, share: float) -> None:
    call = parse_aggregate(f"percentile_approx(greatest(a, b), {number})")
    assert (str(call.argument), call.share) == ("greatest(a, b)", share)
    assert parse_aggregate(str(call)) == call


@pytest.mark.parametrize(
    ("text", "same", "shown"),
    [
        ("count_if(a > 1)", "count(CASE WHEN a > 1 THEN 1 END)", "count_if(a > 1)"),
        ("count(*) FILTER (WHERE a > 1)", "count_if(a > 1)", "count(*) FILTER (WHERE a > 1)"),
        ("sum(b) filter( where a and c )", "sum(CASE WHEN a AND c THEN b END)", "sum(b) FILTER (WHERE a and c)"),
        ("median(b) FILTER (WHERE a)", "median(CASE WHEN a THEN b END)", "percentile_approx(b, 0.5) FILTER (WHERE a)"),
        ("count_if(a) FILTER (WHERE c)", "count(CASE WHEN c THEN CASE WHEN a THEN 1 END END)", None),
        ("bool_or(a OR b)", "max(a OR b OR false)", "bool_or(a OR b)"),
        ("any(a)", "bool_or(a)", "any(a)"),
        ("some(a)", "bool_or(a)", "some(a)"),
        ("bool_and(a OR b)", "min((a OR b) AND true)", "bool_and(a OR b)"),
        ("every(a)", "bool_and(a)", "every(a)"),
        ("any_value(a)", "min(a)", "any_value(a)"),
        ("percentile_approx(a, 0)", "min(a)", "percentile_approx(a, 0)"),
        ("percentile_approx(a, 1.0)", "max(a)", "percentile_approx(a, 1)"),
    ],
)
def test_some_are_others_written_shorter(text: str, same: str, shown: str | None) -> None:
    call = parse_aggregate(text)
    assert call == parse_aggregate(same)
    assert call.canonical == parse_aggregate(same).canonical
    assert str(call) == (shown or text)
    assert parse_aggregate(str(call)) == call


def test_a_class_is_handed_the_rows_that_pass() -> None:
    call = user_aggregate("stocks:LastPrice", columns=["price"], returns="double", where="price > 0")
    whole = user_aggregate("stocks:LastPrice", columns=["price"], returns="double")
    assert str(call) == "stocks:LastPrice(price) FILTER (WHERE price > 0)"
    assert call.argument == parse_expression("CASE WHEN price > 0 THEN named_struct('c0', `price`) END")
    assert call.canonical != whole.canonical


def test_distinct_values_are_counted_by_a_class() -> None:
    call = parse_aggregate("COUNT( distinct lower(host) ) FILTER (WHERE size > 3)")
    assert call.kind is AggregateKind.COUNT_DISTINCT
    assert str(call) == "count(DISTINCT lower(host)) FILTER (WHERE size > 3)"
    assert parse_aggregate(str(call)) == call
    assert call.canonical == parse_aggregate("count(DISTINCT lower(Host)) filter (where size>3)").canonical
    assert call.canonical != parse_aggregate("count(DISTINCT host)").canonical
    assert call.columns == {"host", "size"}
    assert aggregate_type(call, {}) == "bigint"


def test_text_only() -> None:
    with pytest.raises(InvalidExpressionError, match="an aggregate is text"):
        parse_aggregate(None)  # type: ignore[arg-type]


def test_variants_of_a_call_are_equal() -> None:
    assert parse_aggregate("SUM(Size)") == parse_aggregate("sum( (size) )")
    assert parse_aggregate("std(a)").canonical == "stddev(a)"
