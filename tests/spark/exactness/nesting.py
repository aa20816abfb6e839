"""Random queries over nested aggregates: as our network has them, and as SQL that DuckDB answers."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa

from streamshed.network.model.relation import Relation
from streamshed.network.model.rows import Answers, Rows

SECOND = 1_000_000
Window = tuple[int, int, int]
"""Size, slide and offset, seconds."""
Place = tuple[int, tuple[str | None, ...], str]
"""Start of a window, microseconds; the group; the aggregate."""

_CALLS = {
    "n": "count(*)",
    "t": "sum({})",
    "m": "max({})",
    "a": "avg({})",
    "c": "count({})",
    "d": "(sum({}) - count(*)) / count(*)",
    "u": "count(DISTINCT {})",
}


_LARGEST_SIZE = 2000
_COMPUTED_MODULO = 7


class AddedKind(StrEnum):
    """How a column is added to rows, or to answers of the aggregate below."""

    MAP = "map"
    LOOKUP = "lookup"
    FUNCTION = "function"


@dataclass(frozen=True)
class Added:
    """A column that is computed of another one, or looked up by it."""

    kind: AddedKind
    of: str
    into: str


@dataclass(frozen=True)
class LevelSpec:
    """One aggregate, and what its rows pass before it: a column is added to them, then they are filtered."""

    added: Added | None
    condition: str | None
    window: Window
    keys: tuple[str, ...]
    calls: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class NestedSpec:
    """A query of several levels, the one next to the stream first."""

    name: str
    levels: tuple[LevelSpec, ...]

    @property
    def windows(self) -> tuple[Window, ...]:
        return tuple(level.window for level in self.levels)


def random_rows(seed: int, count: int, seconds: int, start: int) -> pa.Table:
    """Rows in order of time: ts, v (some null), g (some null), h."""
    chance = np.random.default_rng(seed)
    instants = start + np.sort(chance.integers(0, seconds * SECOND, count))
    groups = chance.choice(["a", "b", "c", ""], count)
    return pa.table(
        {
            "ts": pa.array(instants, pa.timestamp("us", "UTC")),
            "v": pa.array(chance.integers(-500, 500, count), mask=chance.random(count) < 0.05),
            "g": pa.array(groups, pa.string(), mask=groups == ""),
            "h": pa.array(chance.integers(0, 3, count)),
        }
    )


def sizes() -> pa.Table:
    """The relation of lookups: of three whole numbers in a row, one has no partner."""
    keys = np.array([key for key in range(_LARGEST_SIZE) if key % 3 != 2])
    return pa.table({"k": keys, "weight": keys * 31 % 17 - 5})


def computed(numbers: pd.Series) -> pd.Series:
    """The user's function."""
    return numbers * numbers % _COMPUTED_MODULO


def random_nesting(name: str, seed: int, depth: int) -> NestedSpec:
    """A query of so many levels."""
    chance = random.Random(seed)
    keys: tuple[str, ...] = tuple(sorted(chance.sample(["g", "h"], chance.choice((0, 1, 1, 2)))))
    numbers, levels = ["v", "h"], []
    whole = ["h"]
    for level in range(depth):
        added = _added(chance, level, numbers, whole)
        numbers += [] if added is None else [added.into, added.into]
        condition = chance.choice((None, None, f"{chance.choice(numbers)} > {chance.randint(-3, 1)}"))
        argument = chance.choice(numbers)
        second = chance.choice(numbers)
        picked = chance.sample(list(_CALLS), chance.choice((1, 2, 3)))
        calls = tuple(
            (f"{call}{level}", _CALLS[call].format(argument if number < 2 else second))
            for number, call in enumerate(picked)
        )
        levels.append(LevelSpec(added, condition, _window(chance), keys, calls))
        numbers = [into for into, _ in calls]
        whole = [into for into in numbers if into[0] in "nc"]
        keys = tuple(key for key in keys if chance.random() < 0.7)
    return NestedSpec(name, tuple(levels))


def _added(chance: random.Random, level: int, numbers: Sequence[str], whole: Sequence[str]) -> Added | None:
    """A column more, in two of three cases; looked up or handed to a function is what is whole and never null."""
    if chance.random() < 1 / 3:
        return None
    kind = chance.choice(list(AddedKind)) if whole else AddedKind.MAP
    of = chance.choice(numbers if kind is AddedKind.MAP else whole)
    return Added(kind, of, "weight" if kind is AddedKind.LOOKUP else f"more{level}")


def _window(chance: random.Random) -> Window:
    slide = chance.choice((1, 2, 3, 4, 5, 7))
    size = slide * chance.choice((1, 1, 2)) + chance.choice((0, 0, 1, 2))
    return size, slide, chance.choice((0, 0, 1))


def nested_aggregate(spec: NestedSpec, rows: Rows, relation: Relation) -> Answers:
    """The query as our network has it; `relation` holds `sizes`."""
    node = rows
    for level in spec.levels:
        if level.added is not None:
            node = _with_added(node, level.added, relation)
        if level.condition is not None:
            node = node.filter(level.condition)
        size, slide, offset = (f"{seconds} seconds" for seconds in level.window)
        windowed = node.window(size, every=slide, offset=offset)
        node = (windowed.by(*level.keys) if level.keys else windowed).agg(**dict(level.calls))
    assert isinstance(node, Answers)
    return node


def _with_added(node: Rows, added: Added, relation: Relation) -> Rows:
    match added.kind:
        case AddedKind.MAP:
            return node.map(**{added.into: f"2 * {added.of} + 1"})
        case AddedKind.LOOKUP:
            return node.lookup(relation, on={added.of: "k"})
        case AddedKind.FUNCTION:
            return node.apply(computed, columns=[added.of], into=added.into, returns="bigint")


def _sql_with_added(rows: str, added: Added) -> str:
    match added.kind:
        case AddedKind.MAP:
            return f"SELECT *, 2 * {added.of} + 1 AS {added.into} FROM ({rows})"
        case AddedKind.LOOKUP:
            return f"SELECT below.*, sizes.weight FROM ({rows}) AS below JOIN sizes ON below.{added.of} = sizes.k"
        case AddedKind.FUNCTION:
            return f"SELECT *, {added.of} * {added.of} % {_COMPUTED_MODULO} AS {added.into} FROM ({rows})"


def expected(spec: NestedSpec, rows: pa.Table) -> dict[Place, float | None]:
    """What DuckDB answers."""
    steps = ["SELECT epoch_us(ts) AS stamp, v, g, h FROM rows"]
    for level in spec.levels:
        size, slide, offset = (seconds * SECOND for seconds in level.window)
        last = f"(stamp - {offset}) // {slide}"
        first = f"(stamp - {offset} - {size}) // {slide} + 1"
        names = [*level.keys, *(f"{call} AS {into}" for into, call in level.calls)]
        where = f"WHERE {level.condition}" if level.condition else ""
        below = steps[-1] if level.added is None else _sql_with_added(steps[-1], level.added)
        steps.append(
            f"SELECT {offset} + k * {slide} AS stamp, {', '.join(names)} FROM"
            f" (SELECT *, unnest(generate_series({first}, {last})) AS k FROM ({below}) {where}) GROUP BY ALL"
        )
    top = spec.levels[-1]
    with duckdb.connect() as database:
        database.register("rows", rows)
        database.register("sizes", sizes())
        found = database.execute(steps[-1]).fetchall()
    answers: dict[Place, float | None] = {}
    for start, *fields in found:
        key = tuple(None if field is None else str(field) for field in fields[: len(top.keys)])
        for (into, _), value in zip(top.calls, fields[len(top.keys) :], strict=True):
            answers[start, key, into] = None if value is None else float(value)
    return answers


def differences(told: dict[Place, float | None], truth: dict[Place, float | None]) -> Sequence[str]:
    """What is told otherwise, or not at all, or without being there."""
    found = [f"missing {place}: {value}" for place, value in truth.items() if place not in told]
    found += [f"not there {place}: {value}" for place, value in told.items() if place not in truth]
    both = ((place, told[place], truth[place]) for place in told.keys() & truth.keys())
    found += [f"{place}: {ours} for {theirs}" for place, ours, theirs in both if not _same(ours, theirs)]
    return found


def _same(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is other
    return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)
