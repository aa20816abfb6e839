"""Pairs summed up where they are found say what DuckDB says of all pairs, group by group."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamshed.joins.match.drawn import strata_texts
from streamshed.joins.model.side import Side
from streamshed.joins.sums.pair_sums import SUMS, Paired, summed_pairs
from streamshed.joins.sums.summed_class import KeyPart, PairSelection, SummedClass, SummedValue, ValueForm
from tests.oracles.replanned import database
from tests.thoroughness import examples

SCHEMA = pa.schema(
    [
        ("t", pa.int64()),
        ("n", pa.int64()),
        ("x", pa.float64()),
        ("day", pa.date32()),
        ("host", pa.string()),
        ("first", pa.bool_()),
        ("second", pa.bool_()),
        ("shown", pa.bool_()),
    ]
)
NAN = float("nan")
ROW = st.fixed_dictionaries(
    {
        "t": st.integers(-30, 30),
        "n": st.none() | st.sampled_from([0, 1, -1, 7, 2**62, -(2**62), 2**63 - 1]),
        "x": st.none() | st.sampled_from([0.0, -0.0, 1.5, -2.25, NAN, float("inf"), -float("inf")]),
        "day": st.none() | st.integers(-2, 2),
        "host": st.none() | st.sampled_from(["", "a", "b", "|"]),
        "first": st.booleans() | st.none(),
        "second": st.booleans(),
        "shown": st.booleans(),
    }
)
KEYS = [
    (),
    (KeyPart(side=Side.LEFT, column="host", is_number=False),),
    (KeyPart(side=Side.RIGHT, column="day", is_number=True),),
]
VALUES = [
    None,
    SummedValue(side=Side.LEFT, column="n", form=ValueForm.WHOLE),
    SummedValue(side=Side.RIGHT, column="n", form=ValueForm.WHOLE),
    SummedValue(side=Side.LEFT, column="day", form=ValueForm.WHOLE),
    SummedValue(side=Side.RIGHT, column="x", form=ValueForm.FLOATING),
    SummedValue(side=Side.LEFT, column="host", form=ValueForm.PRESENCE),
]
SELECTIONS = [
    (PairSelection(),),
    (PairSelection(left=("first",)), PairSelection(right=("first", "second"))),
    (PairSelection(left=("first",), right=("second",)), PairSelection(later=("shown",)), PairSelection()),
]
EDGES = [((10, 0),), ((10, 3), (7, 0))]
NAMES = {Side.LEFT: "l", Side.RIGHT: "r"}


@st.composite
def _pairs(draw: st.DrawFn) -> Paired:
    rows = {side: pa.Table.from_pylist(draw(st.lists(ROW, min_size=1, max_size=6)), SCHEMA) for side in Side}
    place = st.tuples(*(st.integers(0, rows[side].num_rows - 1) for side in Side))
    found = draw(st.lists(place, max_size=20))
    places = {side: np.array([one[index] for one in found], np.int64) for index, side in enumerate(Side)}
    return Paired(rows, places, "t")


def _mask_sql(selections: Sequence[PairSelection]) -> str:
    bits = []
    for bit, one in enumerate(selections):
        tests = [f'coalesce(l."{name}", false)' for name in one.left]
        tests += [f'coalesce(r."{name}", false)' for name in one.right]
        tests += [f'CASE WHEN l.t >= r.t THEN l."{name}" ELSE r."{name}" END' for name in one.later]
        bits.append(f"CASE WHEN {' AND '.join(tests) or 'true'} THEN {1 << bit} ELSE 0 END")
    return " + ".join(bits)


def _value_sql(value: SummedValue | None) -> str:
    if value is None:
        return "NULL::BIGINT"
    column = f'{NAMES[value.side]}."{value.column}"'
    if value.form is ValueForm.PRESENCE:
        return f"CASE WHEN {column} IS NOT NULL THEN 0 END"
    return f"date_diff('day', DATE '1970-01-01', {column})" if value.column == "day" else column


def _expected(pairs: Paired, one: SummedClass) -> list[tuple[Any, ...]]:
    since = ", ".join(f"((t - {phase}) % {period} + {period}) % {period}" for period, phase in one.edges)
    keys = ", ".join(f'{NAMES[part.side]}."{part.column}"' for part in one.keys) or "0"
    value = f"CASE WHEN mask & {one.value_mask} != 0 THEN v END"
    with database() as connection:
        for side in Side:
            connection.register(
                NAMES[side], pairs.rows[side].append_column("place", pa.array(range(len(pairs.rows[side]))))
            )
        connection.register("p", pa.table({NAMES[side]: pairs.places[side] for side in Side}))
        return connection.execute(
            f"WITH found AS (SELECT greatest(l.t, r.t) AS t, ({_mask_sql(one.selections)}) & {one.every_bit} AS mask,"
            f" {keys} AS key, {_value_sql(one.value)} AS v FROM p JOIN l ON l.place = p.l JOIN r ON r.place = p.r),"
            f" valued AS (SELECT t - least({since}) AS start, mask, key, {value} AS v FROM found WHERE mask != 0)"
            " SELECT start, mask, key, count(*), count(v), sum(v), min(v), max(v), sum(v::DOUBLE * v::DOUBLE),"
            " sum(abs(v::DOUBLE)) FROM valued GROUP BY start, mask, key"
        ).fetchall()


def _found(pairs: Paired, one: SummedClass) -> list[tuple[Any, ...]]:
    told = summed_pairs(pairs, [one], "|").to_pylist()
    assert all(row["class_id"] == one.class_id for row in told)
    whole = one.value is not None and one.value.form is not ValueForm.FLOATING
    rows = []
    for row in told:
        total = row["total"]
        if whole and total is not None:
            total = row["sum_low"] + 2**32 * row["sum_high"]
            assert (row["least_long"], row["greatest_long"]) == (int(row["least_long"]), int(row["greatest_long"]))
        least, greatest = (row[f"{end}_{'long' if whole else 'number'}"] for end in ("least", "greatest"))
        key = _key(row, one)
        sums = (total, least, greatest, row["squares"], row["sizes"])
        rows.append((row["instant"], row["mask"], key, row["rows"], row["present"], *sums))
    return rows


def _key(row: Mapping[str, Any], one: SummedClass) -> object:
    if one.keys and one.keys[0].column == "host":
        return row["key_text"]
    return row["key_long"]


def _comparable(rows: list[tuple[Any, ...]]) -> dict[tuple[Any, ...], list[object]]:
    """By group; days of DuckDB as numbers."""
    found: dict[tuple[Any, ...], list[object]] = {}
    for start, mask, key, *figures in rows:
        day = (key - np.datetime64("1970-01-01").item()).days if hasattr(key, "year") else key
        group = (start, mask, day)
        assert group not in found
        found[group] = figures
    return found


@pytest.mark.parametrize("value", VALUES, ids=str)
@given(
    pairs=_pairs(),
    keys=st.sampled_from(KEYS),
    selections=st.sampled_from(SELECTIONS),
    edges=st.sampled_from(EDGES),
    counting_mask=st.sampled_from([0, 1]),
    value_mask=st.sampled_from([7, 2]),
)
@examples(40)
def test_sums_are_those_of_all_pairs(
    value: SummedValue | None,
    pairs: Paired,
    keys: tuple[KeyPart, ...],
    selections: tuple[PairSelection, ...],
    edges: tuple[tuple[int, int], ...],
    counting_mask: int,
    value_mask: int,
) -> None:
    one = SummedClass(
        class_id=5,
        edges=edges,
        selections=selections,
        counting_mask=counting_mask if len(selections) > 1 else 0,
        value_mask=value_mask,
        keys=keys,
        value=value,
        extremes=True,
    )
    found, expected = _comparable(_found(pairs, one)), _comparable(_expected(pairs, one))
    assert found.keys() == expected.keys()
    for group, figures in expected.items():
        alike = (
            told == pytest.approx(figure, rel=1e-12, nan_ok=True) if figure is not None else told is None
            for told, figure in zip(found[group], figures, strict=True)
        )
        assert all(alike), (group, found[group], figures)


@given(_pairs())
@examples(40)
def test_several_classes_and_keys_are_told_apart(pairs: Paired) -> None:
    parts = tuple(KeyPart(side=side, column="told", is_number=False) for side in Side)
    told = {
        side: rows.append_column("told", pa.array([host or "-" for host in rows["host"].to_pylist()], pa.string()))
        for side, rows in pairs.rows.items()
    }
    classes = [
        SummedClass(class_id=number, edges=((10, 0),), selections=(PairSelection(),), keys=keys)
        for number, keys in ((1, parts), (2, ()))
    ]
    found = summed_pairs(Paired(told, pairs.places, "t"), classes, "\x1f").to_pylist()
    counts = [sum(row["rows"] for row in found if row["class_id"] == number) for number in (1, 2)]
    assert counts == [len(pairs), len(pairs)]
    left, right = (told[side]["told"].to_pylist() for side in Side)
    both = {
        f"{left[i]}\x1f{right[j]}"
        for i, j in zip(pairs.places[Side.LEFT].tolist(), pairs.places[Side.RIGHT].tolist(), strict=True)
    }
    assert {row["key_text"] for row in found if row["class_id"] == 1} == both


@pytest.mark.parametrize("value", [VALUES[0], VALUES[1], VALUES[4]], ids=str)
@given(
    pairs=_pairs(),
    sampled=st.sampled_from(list(Side)),
    strata=st.lists(st.sampled_from([0, 20, 35, 36]), min_size=6, max_size=6),
    keys=st.sampled_from(KEYS),
    selections=st.sampled_from(SELECTIONS),
)
@examples(40)
def test_pairs_of_a_sample_are_summed_up_by_their_rate_and_cohort(
    value: SummedValue | None,
    pairs: Paired,
    sampled: Side,
    strata: list[int],
    keys: tuple[KeyPart, ...],
    selections: tuple[PairSelection, ...],
) -> None:
    one = SummedClass(
        class_id=5, edges=EDGES[1], selections=selections, value_mask=7, keys=keys, value=value, extremes=True
    )
    of_rows = np.array(strata[: len(pairs.rows[sampled])], np.int64)
    own = of_rows[pairs.places[sampled]]
    told = summed_pairs(replace(pairs, sampled=(sampled, of_rows)), [one], "|")
    parts = []
    for stratum in np.unique(own).tolist():
        of_stratum = {side: places[own == stratum] for side, places in pairs.places.items()}
        part = summed_pairs(Paired(pairs.rows, of_stratum, "t"), [one], "|")
        (text,) = strata_texts(np.array([stratum])).to_pylist()
        codes = pa.array([text] * part.num_rows, pa.string())
        parts.append(part.set_column(part.column_names.index("sampling_codes"), "sampling_codes", codes))
    expected = pa.concat_tables([SUMS.empty_table(), *parts])
    assert sorted(map(repr, told.to_pylist())) == sorted(map(repr, expected.to_pylist()))
