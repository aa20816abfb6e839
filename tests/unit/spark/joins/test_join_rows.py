"""Rows on their way to the partitions of a join and back."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pytest

from streamshed.joins.match.fragments import WHOLE, Fragments
from streamshed.joins.model.conditions import Condition, Equality, Overlap
from streamshed.joins.model.side import Side
from streamshed.spark.common.internal_names import IDENTITY, TIME
from streamshed.spark.joins.join_rows import packing, slices_of, unpacked_side

LABELS = (7, 3, 12)
SETS = Overlap("a_tags", "b_tags", 1)
SCHEMA = pa.schema([(TIME, pa.int64()), ("a_n", pa.int64()), ("a_host", pa.string()), ("a_tags", pa.list_(pa.int64()))])
ROWS = pa.Table.from_pylist(
    [
        {TIME: n, "a_n": 2**60 + n if n % 3 else None, "a_host": "abcde"[n % 5] if n % 7 else None, "a_tags": [n, None]}
        for n in range(100)
    ],
    SCHEMA,
)


def _packed(
    rows: pa.Table, condition: Condition, side: Side = Side.LEFT, step: int = 30, fragments: Fragments = WHOLE
) -> pa.Table:
    if not isinstance(condition, Equality):
        rows = rows.append_column(IDENTITY, rows[TIME])
    batches = rows.to_batches(max_chunksize=step)
    labels = LABELS if fragments == WHOLE else LABELS[: fragments.partitions]
    return pa.Table.from_batches(list(packing(condition, side, labels, fragments)(batches)))


def _of_label(packed: pa.Table, label: int) -> list[bytes]:
    return [row["rows"] for row in packed.to_pylist() if row["label"] == label]


def _order(rows: Sequence[dict[str, object]]) -> list[dict[str, object]]:
    return sorted(rows, key=lambda row: str(row[TIME]).zfill(3))


def test_rows_arrive_as_they_were_and_equal_keys_at_one_label() -> None:
    packed = _packed(ROWS, Equality(("a_host",), ("b_host",)))
    arrived = {label: unpacked_side(_of_label(packed, label), SCHEMA) for label in LABELS}
    assert _order([row for rows in arrived.values() for row in rows.to_pylist()]) == ROWS.to_pylist()
    hosts = [{host for host in rows["a_host"].to_pylist() if host is not None} for rows in arrived.values()]
    assert sum(map(len, hosts)) == len(set().union(*hosts)) == 5


def test_both_sides_of_an_equal_key_go_to_one_label_whatever_they_are_called_and_however_wide() -> None:
    mine = pa.table({TIME: [1] * 50, "a_port": pa.array(range(50), pa.int32())})
    theirs = pa.table({TIME: [1] * 50, "b_port": pa.array(range(50), pa.int64())})
    condition = Equality(("a_port",), ("b_port",))
    label_of = []
    for rows, side, name in ((mine, Side.LEFT, "a_port"), (theirs, Side.RIGHT, "b_port")):
        packed = _packed(rows, condition, side)
        assert set(packed["side"].to_pylist()) == {int(side)}
        arrived = {label: unpacked_side(_of_label(packed, label), rows.schema) for label in LABELS}
        label_of.append({port: label for label, table in arrived.items() for port in table[name].to_pylist()})
    assert label_of[0] == label_of[1]
    assert set(label_of[0].values()) == set(LABELS)


@pytest.mark.parametrize("condition", [Equality(("a_host",), ("b_host",)), SETS])
def test_a_carrier_asks_every_label_and_brings_no_row(condition: Condition) -> None:
    carrier = [dict.fromkeys(SCHEMA.names)]
    packed = _packed(pa.Table.from_pylist(carrier, SCHEMA), condition)
    assert sorted(packed["label"].to_pylist()) == sorted(LABELS)
    assert set(packed["rows"].to_pylist()) == {None}
    assert unpacked_side(packed["rows"].to_pylist(), SCHEMA).num_rows == 0


def test_rows_that_join_by_no_key_go_to_one_label_if_there_is_one() -> None:
    packed = _packed(ROWS, SETS)
    assert len(set(packed["label"].to_pylist())) == 1
    assert unpacked_side(packed["rows"].to_pylist(), SCHEMA).equals(ROWS)


def test_rows_that_join_by_no_key_are_dealt_on_one_side_and_go_to_all_labels_on_the_other() -> None:
    fragments = Fragments(left=1, right=3)
    for side, everywhere in ((Side.LEFT, True), (Side.RIGHT, False)):
        packed = _packed(ROWS, SETS, side, fragments=fragments)
        arrived = [unpacked_side(_of_label(packed, label), SCHEMA) for label in LABELS]
        if everywhere:
            assert all(rows.equals(ROWS) for rows in arrived)
        else:
            assert _order([row for rows in arrived for row in rows.to_pylist()]) == ROWS.to_pylist()
            assert all(20 < rows.num_rows < 50 for rows in arrived)


def test_rows_are_cut_into_pieces_and_nothing_into_none() -> None:
    assert pa.concat_tables(list(slices_of(ROWS))).equals(ROWS)
    assert list(slices_of(SCHEMA.empty_table())) == []
