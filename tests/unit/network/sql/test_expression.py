import re

import pytest

from streamshed.errors import InvalidExpressionError
from streamshed.network.sql.expression import conjuncts, parse_expression, rename_columns

COLUMNS_OF = {
    "size > 3": {"size"},
    "`a.b` = 'size' and s.size.x < 4": {"a.b", "s"},
    "'size' = \"size\" or size = 'it\\'s size'": {"size"},
    "transform(xs, x -> x + size)": {"xs", "size"},
    "transform(xs, X -> x + size)": {"xs", "size"},
    "transform(xs, size -> size + 1)": {"xs"},
    "aggregate(xs, 0, (total, x) -> total + x * size, total -> total / n)": {"xs", "size", "n"},
    "exists(xs, x -> x.field > size and y)": {"xs", "size", "y"},
    "filter(xs, x -> exists(ys, y -> y = x and z))": {"xs", "ys", "z"},
    "cast(a as decimal(10, 2)) + b::int + try_cast(date as date)": {"a", "b", "date"},
    "cast(a as struct<x: int, size: array<string>>).x": {"a"},
    "interval 5 minutes + interval '1' day < interval x hours": {"x"},
    "left(left, 2) = date and date(date) = right": {"left", "date", "right"},
    "timestamp'2024-01-01' < ts and date '2024-01-01' < day": {"ts", "day"},
    "current_timestamp > ts and current_date() = d": {"ts", "d"},
    "dateadd(day, n, ts) > timestampdiff(MINUTE, a, b)": {"n", "ts", "a", "b"},
    "date_add(ts, day)": {"ts", "day"},
    "date_trunc(fmt, ts)": {"fmt", "ts"},
    "extract(year from ts)": {"ts"},
    "trim(both x from y) = substring(a from b for 2)": {"x", "y", "a", "b"},
    "case kind when other then size else last end": {"kind", "other", "size", "last"},
    "a[0].b + m['k'] + m[k]": {"a", "m", "k"},
    "1L + 2.5BD + 1e5D + x'1F' + r'x'": set(),
    "a <=> b and a is not distinct from c": {"a", "b", "c"},
    "a not between b and c or d not in (1, e)": {"a", "b", "c", "d", "e"},
    "struct(a as size, b).size": {"a", "b"},
    "named_struct('size', b).size": {"b"},
    "from_json(value, 'a int, size int').size": {"value"},
    "ü > 'é' and größe": {"ü", "größe"},
    "x ilike y escape '/' or x rlike '^size'": {"x", "y"},
    "count > 1 and sum < 2": {"count", "sum"},
    "end > 1 and offset = partition": {"end", "offset", "partition"},
    "size -- of the packet": {"size"},
    "/* size */ a": {"a"},
}


@pytest.mark.parametrize(("text", "columns"), COLUMNS_OF.items())
def test_columns_are_found_and_nothing_else(text: str, columns: set[str]) -> None:
    assert parse_expression(text).columns == columns


@pytest.mark.parametrize(
    ("text", "renamed"),
    {
        "size > 3 AND Size<4": "`c1` > 3 AND `c1`<4",
        "`size` + s.size": "`c1` + s.size",
        "size.size": "`c1`.size",
        "size(size) = 'size'": "size(`c1`) = 'size'",
        "transform(xs, x -> x + size)": "transform(xs, x -> x + `c1`)",
        "transform(size, size -> size + 1)": "transform(`c1`, size -> size + 1)",
        "struct(size as size)": "struct(`c1` as size)",
        "cast(size AS struct<size:int>)": "cast(`c1` AS struct<size:int>)",
        "a /* size */ + size": "a /* size */ + `c1`",
        "'é' || size": "'é' || `c1`",
    }.items(),
)
def test_only_columns_are_renamed_and_the_rest_stays_as_written(text: str, renamed: str) -> None:
    assert rename_columns(parse_expression(text), {"SIZE": "c1"}) == renamed


def test_columns_can_swap_names() -> None:
    assert rename_columns(parse_expression("a - b"), {"a": "b", "b": "a"}) == "`b` - `a`"


def test_a_new_name_with_a_backquote_is_quoted() -> None:
    assert rename_columns(parse_expression("a + 1"), {"a": "x`y"}) == "`x``y` + 1"


def test_a_new_name_that_a_lambda_would_capture_is_refused() -> None:
    with pytest.raises(InvalidExpressionError, match='cannot rename "size" to "X"'):
        rename_columns(parse_expression("transform(xs, x -> x + size)"), {"size": "X"})


@pytest.mark.parametrize(
    ("text", "problem"),
    {
        "": "the expression is empty",
        "  -- nothing": "the expression is empty",
        "size > > 3": 'at character 8: unexpected ">"',
        "size >": "something is missing",
        "a +\n b / / c": 'at character 10: unexpected "/"',
        "(a > 1": 'at character 1: "(" is never closed',
        "a) or (b": 'at character 2: ")" closes nothing',
        "a; drop": 'at character 2: ";" ends no expression',
        "a = 'open": "is a quote left open?",
        "a b": 'is an operator missing before "b"?',
        "a AS b": 'is an operator missing before "b"?',
        "a, b": "holds several expressions",
        "sum(size) > 3": "the aggregate sum() belongs after a window",
        "any(ok)": "the aggregate any() belongs after a window",
        "percentile_approx(x, 0.5)": "the aggregate percentile_approx()",
        "row_number() over (order by a)": "the window function row_number()",
        "abs(a) over (order by b)": "window functions see more than one row",
        "lag(a)": "the window function lag()",
        "a in (select b from t)": "use a lookup or a semijoin",
        "explode(xs)": "explode() makes several rows of one",
        "struct(*)": "* stands for several columns",
        ":limit > 3": "parameters have no value here",
        "f(distinct a)": "DISTINCT belongs to aggregates",
        "a -> 1": "Spark has no operators",
        "list[0] = 1": '"list" could be a column or a word of SQL: backquote it',
        "coalesce(all, 1)": '"all" could be a column or a word of SQL: backquote it',
        "values + 1": "subqueries",
    }.items(),
)
def test_what_is_no_expression_over_one_row_is_refused(text: str, problem: str) -> None:
    with pytest.raises(InvalidExpressionError, match=re.escape(problem)):
        parse_expression(text)


def test_text_only() -> None:
    with pytest.raises(InvalidExpressionError, match=r"an expression is SQL text, got \['size'\]"):
        parse_expression(["size"])  # type: ignore[arg-type]


def test_nesting_without_end_is_refused() -> None:
    with pytest.raises(InvalidExpressionError, match="nested too deeply"):
        parse_expression("(" * 5000 + "a" + ")" * 5000)


@pytest.mark.parametrize(
    ("text", "parts"),
    {
        "a": ["a"],
        "a  > 1 AND b": ["a  > 1", "b"],
        "((a and (b and c)))": ["a", "b", "c"],
        "a and (b or c) and d": ["a", "(b or c)", "d"],
        "a or b and c": ["a or b and c"],
        "a between 1 and 2 and b": ["a between 1 and 2", "b"],
        "a not between b and c and d between 1 and 2": ["a not between b and c", "d between 1 and 2"],
        "case when a and b then c end and not d": ["case when a and b then c end", "not d"],
        "end and a": ["end", "a"],
        "exists(xs, x -> x and y) and z": ["exists(xs, x -> x and y)", "z"],
        "not (a and b)": ["not (a and b)"],
        "`and` and 'a and b'": ["`and`", "'a and b'"],
        "a -- first\n and b": ["a", "b"],
    }.items(),
)
def test_conjunctions_are_split_at_their_outermost_ands(text: str, parts: list[str]) -> None:
    expected = [part.strip("()") if part == "(b or c)" else part for part in parts]
    assert [part.text for part in conjuncts(parse_expression(text))] == expected


def test_a_long_conjunction_is_split() -> None:
    text = " and ".join(f"a{index} > {index}" for index in range(300))
    assert len(conjuncts(parse_expression(text))) == 300


def test_equality_is_that_of_the_canonical_text() -> None:
    assert parse_expression("SIZE>3") == parse_expression("(size > 3)")
    assert hash(parse_expression("SIZE>3")) == hash(parse_expression("(size > 3)"))
    assert parse_expression("size > 3") != parse_expression("size > 4")
