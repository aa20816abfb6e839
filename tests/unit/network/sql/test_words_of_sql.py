import pytest
from sqlglot.dialects.spark import Spark

from streamshed.errors import InvalidExpressionError
from streamshed.network.sql.expression import parse_expression, rename_columns

CONSTANTS = {"true", "false", "null", "current_date", "current_timestamp", "current_user", "session_user"}
WORDS = sorted(
    {word.lower() for word in Spark.Tokenizer.KEYWORDS if word.replace("_", "").isalpha()}
    | {
        "left",
        "right",
        "key",
        "value",
        "name",
        "level",
        "unit",
        "day",
        "hour",
        "month",
        "year",
        "user",
        "status",
    }
    - CONSTANTS
)
PLACES = [
    *("{w} > 1", "x + {w}", "f({w})", "f(x, {w})", "cast({w} as int)", "case when {w} then {w} else {w} end"),
    *(
        "{w}.b",
        "not {w}",
        "x between {w} and 2",
        "{w}",
        "({w})",
        "x = {w}",
        "{w} is null",
        "{w} like 'a'",
        "-{w}",
    ),
    *(
        "{w}[0]",
        "x in ({w}, 2)",
        "{w}::int",
        "x div {w}",
        "dateadd(day, {w}, x)",
        "transform(xs, e -> e + {w})",
    ),
    *("{w} and x", "x or {w}", "struct({w} as q)", "`{w}` + 1", "f({w} > 1)", "interval '1' day + {w}"),
]


@pytest.mark.parametrize("place", PLACES)
def test_a_column_named_like_a_word_of_sql_is_a_column_or_refused(place: str) -> None:
    """Never is it taken, in silence, for something else."""
    for word in WORDS:
        if word in CONSTANTS:
            continue
        text = place.format(w=word)
        try:
            expression = parse_expression(text)
        except InvalidExpressionError:
            continue
        assert word in {column.lower() for column in expression.columns}, text
        renamed = rename_columns(expression, {word: "new"})
        assert renamed in {place.format(w="`new`"), place.replace("`{w}`", "{w}").format(w="`new`")}
