"""Which types hold texts that Spark may call equal though their bytes differ, and what is said of them."""

import pytest
from pyspark.sql.types import ArrayType, DataType, DoubleType, LongType, MapType, StringType, StructField, StructType

from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import network
from streamshed.network.source.sources import folder
from streamshed.sharing.stream_work import stream_work
from streamshed.spark.common.collation import collation_of, collation_problems
from streamshed.spark.operators.slot_types import compared_value, type_problems

COLLATED = StringType("UTF8_LCASE")


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (StringType(), None),
        (LongType(), None),
        (COLLATED, "UTF8_LCASE"),
        (StringType("UNICODE_CI"), "UNICODE_CI"),
        (ArrayType(COLLATED), "UTF8_LCASE"),
        (MapType(COLLATED, DoubleType()), "UTF8_LCASE"),
        (MapType(StringType(), COLLATED), "UTF8_LCASE"),
        (StructType([StructField("n", LongType()), StructField("k", ArrayType(COLLATED))]), "UTF8_LCASE"),
        (StructType([StructField("k", StringType())]), None),
    ],
)
def test_a_collation_is_found_wherever_it_is_in_a_type(kind: DataType, expected: str | None) -> None:
    assert collation_of(kind) == expected


def test_the_column_its_collation_and_the_way_out_are_said() -> None:
    (problem,) = collation_problems({("q groups by", "host"): COLLATED, ("q groups by", "port"): StringType()})
    for told in ('"host"', "UTF8_LCASE", "collate(lower(host), 'UTF8_BINARY')"):
        assert told in problem


@pytest.mark.parametrize(
    ("call", "refused"),
    [("approx_count_distinct(k)", True), ("min(k)", True), ("max(k)", True), ("count(k)", False), ("count(*)", False)],
)
def test_values_that_are_compared_are_refused_and_others_are_not(call: str, refused: bool) -> None:
    schema = "ts timestamp, k string, host string"
    rows = stream("rows", folder("in", "parquet", schema=schema), time="ts")
    asked = network(rows.window("1 minute").by("host").agg(n=call).query("q", mode="subset"))
    work = stream_work(rows.stream, asked.queries)
    found = []
    for slot in work.slots:
        value = LongType() if call.startswith("approx_count_distinct") else COLLATED
        types: dict[str, DataType] = {slot.value or "": value, compared_value(slot) or "": COLLATED}
        found += type_problems(slot, {**{key: StringType() for key in slot.keys}, **types})
    assert [("UTF8_LCASE" in problem) for problem in found] == [True] * refused


def test_keys_are_refused() -> None:
    rows = stream("rows", folder("in", "parquet", schema="ts timestamp, k string"), time="ts")
    work = stream_work(rows.stream, network(rows.window("1 minute").by("k").agg(n="count(*)").query("q")).queries)
    (slot,) = work.slots
    (problem,) = type_problems(slot, dict.fromkeys(slot.keys, COLLATED))
    assert 'query "q" groups by "k"' in problem
