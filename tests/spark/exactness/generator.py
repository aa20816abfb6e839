"""Random networks: which operators, windows, keys and aggregates a seed stands for."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from tests.spark.exactness.catalog import (
    ARITHMETIC,
    KEY_EXPRESSIONS,
    MAPS,
    NEVER,
    PREDICATES,
    RISKS,
    SWAP,
    VALUE_EXPRESSIONS,
    Entry,
    fitting,
)
from tests.spark.exactness.specification import (
    MICROSECONDS,
    AggregateSpec,
    FilterStep,
    Kind,
    LookupStep,
    MapStep,
    NetworkSpec,
    Partner,
    QuerySpec,
    Sql,
    Step,
    WindowSpec,
)
from tests.spark.exactness.tables import COLUMNS

WINDOWS_IN_SECONDS = ((10, 10), (60, 60), (30, 10), (7, 5), (25, 10), (10, 3), (60, 7), (45, 15), (11, 7), (4.5, 4))
OFFSETS_IN_SECONDS = (0, 0, 1, 2.5, 13, 0.000001)
KEY_COUNTS = (0, 0, 1, 1, 1, 2, 3)

_NUMERIC = frozenset({Kind.INTEGER, Kind.BIG, Kind.DOUBLE, Kind.DECIMAL})
_EXTREMES = ("min", "max", "quantile_0", "quantile_1")
_NUMERIC_FUNCTIONS = (
    "sum",
    "avg",
    "variance",
    "var_pop",
    "stddev",
    "stddev_pop",
    "count",
    "count_distinct",
    *_EXTREMES,
)
_FUNCTIONS_OF_PREDICATES = ("count_if", "bool_or", "bool_and")
_OTHER_FUNCTIONS = ("min", "max", "count", "count_distinct")
_LOOKUPS: tuple[tuple[str, tuple[tuple[str, str, Kind], ...], tuple[tuple[str, Kind], ...]], ...] = (
    ("labels", (("s", "label_key", Kind.TEXT),), (("label", Kind.TEXT), ("label_score", Kind.DOUBLE))),
    ("ranks", (("i", "rank_key", Kind.INTEGER),), (("region", Kind.TEXT), ("region_score", Kind.DOUBLE))),
    ("ranks", (("n", "rank_key", Kind.INTEGER),), (("region", Kind.TEXT), ("region_score", Kind.DOUBLE))),
    ("words", (("word", "entry", Kind.TEXT),), (("digits", Kind.TEXT), ("sense_score", Kind.DOUBLE))),
    ("words", (("word", "digits", Kind.TEXT),), (("sense", Kind.TEXT), ("sense_score", Kind.DOUBLE))),
    (
        "halves",
        (("i", "half_i", Kind.INTEGER), ("flag", "half_flag", Kind.BOOLEAN)),
        (("half", Kind.TEXT), ("half_score", Kind.BIG)),
    ),
    ("nobody", (("s", "none_key", Kind.TEXT),), (("nothing", Kind.TEXT),)),
)


def generate(seed: int, streams: Sequence[str]) -> NetworkSpec:
    """Generate a network of two to five queries, some of them written twice.

    Args:
        seed: Of all that is random.
        streams: The streams there are.
    """
    chance = random.Random(seed)
    shared = _Path(chance, chance.choice(streams)).extended(chance.randrange(3))
    queries: list[QuerySpec] = []
    for number in range(chance.randint(2, 5)):
        path = shared if chance.random() < 0.6 else _Path(chance, chance.choice(streams))
        query = path.extended(chance.randrange(4)).query(f"n{seed}_{number}")
        queries.append(query)
        if chance.random() < 0.2:
            queries.append(_written_otherwise(query, chance))
    return NetworkSpec(seed, tuple(queries))


@dataclass(frozen=True)
class _Path:
    """A stream and the operators below it so far."""

    chance: random.Random
    stream: str
    steps: tuple[Step, ...] = ()
    columns: dict[str, Kind] = field(default_factory=lambda: dict(COLUMNS))
    risks: tuple[Entry, ...] = ()

    def extended(self, count: int) -> _Path:
        path = self
        for _ in range(count):
            path = path._extended()
        return path

    def _extended(self) -> _Path:
        makers = [self._filtered, self._filtered, self._filtered, self._mapped, self._mapped]
        return self.chance.choice([*makers, self._looked_up, self._risky])()

    def with_step(self, step: Step, columns: dict[str, Kind] | None = None, risks: tuple[Entry, ...] = ()) -> _Path:
        known = self.columns if columns is None else columns
        kept = tuple(fitting((*self.risks, *risks), known))
        return replace(self, steps=(*self.steps, step), columns=known, risks=kept)

    def _filtered(self) -> _Path:
        if self.chance.random() < 0.04:
            return self.with_step(FilterStep((NEVER.sql,)))
        entries = fitting(PREDICATES, self.columns)
        if not entries:
            return self
        chosen = self.chance.sample(entries, min(len(entries), self.chance.choice((1, 1, 2, 3))))
        return self.with_step(FilterStep(tuple(entry.sql for entry in chosen), self.chance.random() < 0.5))

    def _mapped(self) -> _Path:
        entries = fitting(MAPS, self.columns)
        if not entries:
            return self
        chosen = {entry.into: entry for entry in self.chance.sample(entries, min(len(entries), 2))}
        if self.chance.random() < 0.1 and len(fitting(SWAP, self.columns)) == len(SWAP):
            chosen = {entry.into: entry for entry in SWAP}
        return self.assigned(list(chosen.values()))

    def assigned(self, entries: Sequence[Entry]) -> _Path:
        columns = {**self.columns, **{entry.into: entry.sql.kind for entry in entries}}
        replaced = {entry.into for entry in entries}
        risks = tuple(risk for risk in self.risks if not replaced & {name for name, _ in risk.needs})
        step = MapStep(tuple((entry.into, entry.sql) for entry in entries))
        return replace(self.with_step(step, columns), risks=risks)

    def _looked_up(self) -> _Path:
        name, on, adds = self.chance.choice(_LOOKUPS)
        if any(self.columns.get(ours) is not kind for ours, _, kind in on):
            return self
        partner = self.chance.choice(list(Partner))
        pairs = tuple((ours, theirs) for ours, theirs, _ in on)
        if partner is not Partner.JOIN:
            return self.with_step(LookupStep(name, pairs, (), partner))
        added = [(column, kind) for column, kind in adds if column not in self.columns]
        if not added:
            return self
        step = LookupStep(name, pairs, tuple(column for column, _ in added), partner)
        return self.with_step(step, {**self.columns, **dict(added)})

    def _risky(self) -> _Path:
        """A filter, and behind it what fails for the rows that it removes: a filter, a map, or a value later on."""
        risk = self.chance.choice(RISKS)
        if len(fitting([risk.guard, risk.predicate, risk.value], self.columns)) < 3:
            return self
        guarded = self.with_step(FilterStep((risk.guard.sql,)), risks=(risk.value,))
        match self.chance.randrange(3):
            case 0:
                return guarded.with_step(FilterStep((risk.predicate.sql,)))
            case 1:
                return guarded.assigned([risk.value])
            case _:
                return guarded

    def query(self, name: str) -> QuerySpec:
        columns = tuple(self.columns.items())
        if self.chance.random() < 0.07:
            return QuerySpec(name, self.stream, self.steps, None, (), (), columns)
        size, slide = self.chance.choice(WINDOWS_IN_SECONDS)
        offset = self.chance.choice(OFFSETS_IN_SECONDS)
        window = WindowSpec(*(int(seconds * MICROSECONDS) for seconds in (size, slide, offset)))
        keys = tuple(self._key(number) for number in range(self.chance.choice(KEY_COUNTS)))
        aggregates = tuple(self._aggregate(number) for number in range(self.chance.randint(1, 4)))
        return QuerySpec(name, self.stream, self.steps, window, keys, aggregates, columns)

    def _value(self, expressions: Sequence[Entry]) -> Sql:
        """A column, an expression, or one that must not be evaluated for rows which a filter removed."""
        if self.risks and self.chance.random() < 0.5:
            return self.chance.choice(self.risks).sql
        entries = fitting(expressions, self.columns)
        if entries and self.chance.random() < 0.3:
            return self.chance.choice(entries).sql
        column = self.chance.choice([name for name in self.columns if name != "row"])
        return Sql(column, f'"{column}"', self.columns[column])

    def _key(self, number: int) -> tuple[str, Sql]:
        return f"k{number}", self._value(KEY_EXPRESSIONS)

    def _aggregate(self, number: int) -> AggregateSpec:
        if self.chance.random() < 0.15:
            return self._derived(f"a{number}")
        call = self._whole_aggregate(f"a{number}")
        return replace(call, where=self._predicate()) if self.chance.random() < 0.2 else call

    def _derived(self, name: str) -> AggregateSpec:
        """Arithmetic over counts and whole numbers, which are exact wherever they are added up."""
        whole = [column for column in self.columns if self.columns[column] is Kind.INTEGER]
        parts = []
        for number in range(2):
            argument = None
            if whole and self.chance.random() < 0.7:
                column = self.chance.choice(whole)
                argument = Sql(column, f'"{column}"', Kind.INTEGER)
            function = "count" if argument is None else self.chance.choice(("sum", "min", "max", "count"))
            where = self._predicate() if self.chance.random() < 0.5 else None
            parts.append(AggregateSpec(f"{name}_{number}", function, argument, where))
        return AggregateSpec(name, "derived", self.chance.choice(ARITHMETIC), parts=tuple(parts))

    def _whole_aggregate(self, name: str) -> AggregateSpec:
        if self.chance.random() < 0.2:
            return AggregateSpec(name, "count", None)
        predicate = self._predicate() if self.chance.random() < 0.2 else None
        if predicate is not None:
            return AggregateSpec(name, self.chance.choice(_FUNCTIONS_OF_PREDICATES), predicate)
        argument = self._value(VALUE_EXPRESSIONS)
        functions = _NUMERIC_FUNCTIONS if argument.kind in _NUMERIC else _OTHER_FUNCTIONS
        return AggregateSpec(name, self.chance.choice(functions), argument)

    def _predicate(self) -> Sql | None:
        entries = fitting(PREDICATES, self.columns)
        return self.chance.choice(entries).sql if entries else None


def _written_otherwise(query: QuerySpec, chance: random.Random) -> QuerySpec:
    """The same query under another name, its neighboring filters cut, ordered and spelled otherwise."""
    steps: list[Step] = []
    for step in _merged(query.steps):
        if not isinstance(step, FilterStep) or not _may_be_reordered(step):
            steps.append(step)
            continue
        predicates = list(step.predicates)
        chance.shuffle(predicates)
        spelled = tuple(replace(sql, spark=f"(  {sql.spark} )") for sql in predicates)
        steps.append(FilterStep(spelled, chance.random() < 0.5))
    return replace(query, name=f"{query.name}_twin", steps=tuple(steps))


def _merged(steps: Sequence[Step]) -> list[Step]:
    merged: list[Step] = list(steps[:1])
    for before, step in pairwise(steps):
        last = merged[-1]
        if isinstance(before, FilterStep) and isinstance(step, FilterStep) and isinstance(last, FilterStep):
            merged[-1] = FilterStep((*last.predicates, *step.predicates))
        else:
            merged.append(step)
    return merged


def _may_be_reordered(step: FilterStep) -> bool:
    """Whether no predicate relies on another one that stands before it."""
    risky = {risk.predicate.sql for risk in RISKS}
    return not risky & set(step.predicates)
