"""Records of Avro as Arrow columns, against fastavro's own reader."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamshed.columnar.avro_values import NO_AVRO, AvroValues
from streamshed.network.words.schema_registry import SchemaRegistry
from tests.avro_samples import encoded, read_by_fastavro, record_of, types, without_maps
from tests.registry_server import Registered, running_registry
from tests.thoroughness import USUAL


@pytest.fixture(scope="module")
def registry() -> Iterator[tuple[Registered, str]]:
    registered = Registered()
    with running_registry(registered) as url:
        yield registered, url


def is_defined_once(schema: Any) -> bool:
    """Whether no name is defined twice in a schema, which two equal records in it would do."""
    names = json.dumps(schema).split('"name": "R')[1:]
    return len({name.partition('"')[0] for name in names}) == len(names)


@st.composite
def written(draw: st.DrawFn) -> tuple[Any, list[Any]]:
    schema, values = draw(
        st.lists(types(), min_size=1, max_size=4).map(record_of).filter(lambda each: is_defined_once(each[0]))
    )
    return schema, draw(st.lists(values, min_size=1, max_size=4))


@USUAL
@given(written())
def test_records_are_what_fastavro_reads(sample: tuple[Any, list[Any]]) -> None:
    schema, values = sample
    texts = [encoded(schema, value) for value in values]
    records, reasons = AvroValues(json.dumps(schema), None).read(pa.array([*texts, None], pa.binary()))
    assert reasons.null_count == len(reasons)
    assert [without_maps(record) for record in records.to_pylist()] == [
        *(read_by_fastavro(text, schema) for text in texts),
        None,
    ]


@USUAL
@given(written(), st.data())
def test_bytes_that_are_cut_off_or_have_something_behind_them_are_told_apart_from_the_others(
    sample: tuple[Any, list[Any]], data: st.DataObject
) -> None:
    schema, values = sample
    whole = [encoded(schema, value) for value in values]
    longest = max(whole, key=len)
    broken = [longest + b"\0", *(longest[: data.draw(st.integers(0, len(longest) - 1))] for _ in longest[:3])]
    rows = data.draw(st.permutations([*whole, *broken]))
    records, reasons = AvroValues(json.dumps(schema), None).read(pa.array(rows, pa.binary()))
    for row, record, reason in zip(rows, records.to_pylist(), reasons.to_pylist(), strict=True):
        assert reason == (None if row in whole else NO_AVRO)
        assert (record is None) == (reason is not None)
        if reason is None:
            assert without_maps(record) == read_by_fastavro(row, schema)


@USUAL
@given(written(), st.lists(st.binary(max_size=40), min_size=1, max_size=20))
def test_whatever_bytes_come_each_is_a_record_or_told(sample: tuple[Any, list[Any]], rows: list[bytes]) -> None:
    schema, _ = sample
    reader = AvroValues(json.dumps(schema), None)
    records, reasons = reader.read(pa.array(rows, pa.binary()))
    assert [record is None for record in records.to_pylist()] == [reason is not None for reason in reasons.to_pylist()]
    records.validate(full=True)


@USUAL
@given(sample=written(), data=st.data())
def test_another_schema_is_resolved_as_fastavro_resolves_it(
    registry: tuple[Registered, str], sample: tuple[Any, list[Any]], data: st.DataObject
) -> None:
    schema, values = sample
    fields = data.draw(st.permutations(schema["fields"]).map(lambda each: each[: max(1, len(each) - 1)]))
    added = {"name": "added", "type": ["null", "bytes"], "default": None}
    wanted = {**schema, "fields": [*fields, added, {"name": "more", "type": "long", "default": -7}]}
    registered, url = registry
    number = registered.register("packets-value", {"schema": json.dumps(schema)})
    texts = [encoded(schema, value, number=number) for value in values]
    records, reasons = AvroValues(json.dumps(wanted), SchemaRegistry(url)).read(pa.array(texts, pa.binary()))
    assert reasons.null_count == len(reasons)
    assert [without_maps(record) for record in records.to_pylist()] == [
        read_by_fastavro(text[5:], schema, wanted) for text in texts
    ]
