"""What is left to Spark of a stream's queries, which would else be summed up by columns."""

import pytest

from streamshed.columnar.row_ways import row_ways
from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import network
from streamshed.network.source.sources import folder

EVENTS = stream(
    "events",
    folder("in", "parquet", schema="id bigint, at timestamp, ok boolean, kind string, bytes binary"),
    time="at",
    identity=["id"],
)


@pytest.mark.parametrize(
    ("aggregate", "kind"),
    [
        ("sum(if(ok, 2.0, 1.0))", "decimal(2,1)"),
        ("avg(CASE WHEN kind = 'gold' THEN 9.99 END)", "decimal(3,2)"),
        ("max(if(ok, 9.99, 4.99))", "decimal(3,2)"),
        ("min(kind)", "string"),
        ("max(bytes)", "binary"),
    ],
)
def test_values_that_are_no_whole_or_floating_numbers_are_summed_up_by_spark(aggregate: str, kind: str) -> None:
    query = EVENTS.window("1 minute").agg(x=aggregate).query("q")
    assert f"is {kind}, which is summed up by Spark" in str(row_ways(network(query))["events"])


@pytest.mark.parametrize(
    ("key", "kind"),
    [("if(ok, 1.5, 2.5)", "decimal(2,1)"), ("if(ok, 1D, 2D)", "double"), ("bytes", "binary")],
)
@pytest.mark.parametrize("others", [{}, {"kind": "kind"}])
def test_keys_that_are_no_whole_numbers_or_texts_are_grouped_by_spark(
    key: str, kind: str, others: dict[str, str]
) -> None:
    query = EVENTS.window("1 minute").by(**{"k": key, **others}).agg(n="count(*)").query("q")
    reason = str(row_ways(network(query))["events"])
    assert reason.startswith("rows are grouped by")
    assert reason.endswith(f"which is {kind}")


def test_decimals_may_be_counted_and_compared() -> None:
    rows = EVENTS.filter("if(ok, 2.0, 1.0) > 1.5").window("1 minute")
    assert row_ways(network(rows.agg(n="count(if(ok, 9.99, NULL))").query("q"))) == {"events": None}
