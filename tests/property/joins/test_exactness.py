"""Nothing shed, a join is what DuckDB says: any streams, windows, conditions, disorder, micro-batches, restarts."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamshed.joins.model.conditions import Condition, Equality, InnerProduct, Overlap, Predicate
from streamshed.joins.model.join_windows import JoinWindows
from tests.property.joins.streams import MicroBatch, full_join, joined, micro_batches, specification, windows
from tests.thoroughness import examples

INTEGERS = {"k": pa.int64()}, {"k": st.none() | st.integers(-2, 2)}
TEXTS = {"k": pa.string()}, {"k": st.none() | st.sampled_from(["", "a", "b", "ab"])}
FLOATS = {"k": pa.float64()}, {"k": st.none() | st.sampled_from([0.0, -0.0, 1.5, float("nan"), -float("nan")])}
TWO = {"a": pa.string(), "b": pa.int32()}, {"a": st.none() | st.sampled_from(["x", "y"]), "b": st.integers(0, 1)}
SETS = {"s": pa.list_(pa.int64())}, {"s": st.none() | st.lists(st.none() | st.integers(0, 6), max_size=6)}
WORDS = {"s": pa.list_(pa.string())}, {"s": st.none() | st.lists(st.none() | st.sampled_from("abcdef"), max_size=6)}
WEIGHT = st.none() | st.sampled_from([0.5, 1.0, 2.0, -1.0, float("nan")])
WEIGHTED = (
    {"s": pa.list_(pa.struct([("item", pa.string()), ("weight", pa.float64())]))},
    {
        "s": st.none()
        | st.lists(
            st.tuples(st.sampled_from("abcd"), WEIGHT).map(lambda it: {"item": it[0], "weight": it[1]}), max_size=4
        )
    },
)
TOTALS = """(SELECT i.item, sum(i.weight) weight FROM (SELECT unnest({}.s) i)
  WHERE NOT isnan(i.weight) AND i.weight IS NOT NULL GROUP BY 1)"""
PRODUCT = f"""(SELECT sum(x.weight * y.weight) FROM {TOTALS.format("l")} x JOIN {TOTALS.format("r")} y
  ON x.item = y.item) >= 1.5"""
OVERLAP = "len(list_filter(list_distinct(list_intersect(l.s, r.s)), lambda x: x IS NOT NULL)) >= 2"

Columns = tuple[Mapping[str, pa.DataType], Mapping[str, st.SearchStrategy[object]]]

CASES: Mapping[str, tuple[Columns, Condition, str]] = {
    "integers": (INTEGERS, Equality(("k",), ("k",)), "l.k = r.k"),
    "texts": (TEXTS, Equality(("k",), ("k",)), "l.k = r.k"),
    "floats": (FLOATS, Equality(("k",), ("k",)), "l.k = r.k"),
    "two keys": (TWO, Equality(("a", "b"), ("a", "b")), "l.a = r.a AND l.b = r.b"),
    "sets": (SETS, Overlap("s", "s", 2), OVERLAP),
    "sets of words": (WORDS, Overlap("s", "s", 2), OVERLAP),
    "weighted sets": (WEIGHTED, InnerProduct("s", "s", 1.5), PRODUCT),
    "predicate": (
        INTEGERS,
        Predicate(lambda left, right: np.asarray(pc.less(left["k"], right["k"]).fill_null(fill_value=False))),
        "l.k < r.k",
    ),
}


@pytest.mark.parametrize("case", CASES)
@examples(60)
@given(chosen=st.data(), of=windows(), restarts=st.booleans())
def test_each_pair_once_whichever_row_comes_later(
    case: str, chosen: st.DataObject, of: JoinWindows, restarts: bool
) -> None:
    columns, condition, asked = CASES[case]
    stream: list[MicroBatch] = chosen.draw(micro_batches(columns[0], columns[1]))
    found, results = joined(specification(of, condition), stream, restarts=restarts)
    assert found == full_join(of, stream, asked)
    for result, one in zip(results, stream, strict=True):
        late = int((np.asarray(one.left["t"]) < one.watermark).sum())
        assert result.left_counts.late == late
        assert result.cells.results.sum() == len(result)
