import json
import math
from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from streamshed.traces.iso_time import iso_times
from streamshed.traces.json_text import json_members

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
texts = st.text(st.characters(exclude_categories=["Cs"]))
rows = st.lists(
    st.tuples(
        st.none() | texts,
        st.none() | st.integers(-(2**63), 2**63 - 1),
        st.none() | st.floats(allow_nan=False, allow_infinity=False),
        st.none() | st.booleans(),
    ),
    min_size=1,
)


@given(rows=rows, name=texts)
def test_what_is_written_is_read_back(
    rows: list[tuple[str | None, int | None, float | None, bool | None]], name: str
) -> None:
    kinds = (pa.string(), pa.int64(), pa.float64(), pa.bool_())
    columns = [pa.array(column, kind) for column, kind in zip(zip(*rows, strict=True), kinds, strict=True)]
    names = [f"text {name}", "whole", "real", "flag"]
    members = json_members(pa.table(columns, names=names)).to_pylist()
    for text, row in zip(members, rows, strict=True):
        read = json.loads(f"{{{text}}}")
        assert list(read) == names
        for written, value in zip(row, read.values(), strict=True):
            assert value == written
            if isinstance(written, float):
                assert math.copysign(1, value) == math.copysign(1, written)


@given(microseconds=st.lists(st.integers(-(10**16), 10**17)))
def test_times_are_read_back(microseconds: list[int]) -> None:
    written = iso_times(np.array(microseconds, dtype=np.int64)).to_pylist()
    read = [(datetime.fromisoformat(text) - EPOCH) // timedelta(microseconds=1) for text in written]
    assert read == microseconds
