"""Lookups in stored relations: the foreign-key join and the semijoin."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from types import MappingProxyType

from streamshed.errors import InvalidNetworkError, Problem
from streamshed.network.model.node import Node
from streamshed.network.model.operators import Operator, place
from streamshed.network.model.relation import Relation
from streamshed.network.terms.problems import Problems, unknown_column
from streamshed.network.words.columns import declared_name
from streamshed.network.words.given import given_names, is_a, items_of
from streamshed.network.words.names import reserved_problem

_WAY_OUT = "leave it out (columns=...) or rename it in the relation"


class LookupKind(StrEnum):
    """JOIN adds columns of the row's partner, SEMIJOIN asks only whether there is one."""

    JOIN = "join"
    SEMIJOIN = "semijoin"


@dataclass(frozen=True, eq=False, repr=False)
class Lookup(Operator):
    """The rows of `input` that have a partner in a stored relation.

    Attributes:
        input: Where the rows come from.
        relation: The relation.
        on: The key: pairs (column of the stream, column of the relation).
        columns_added: For JOIN: the relation's columns that rows get.
        kind: JOIN or SEMIJOIN.
        negate: For SEMIJOIN: the rows without a partner instead.
    """

    input: Node
    relation: Relation
    on: tuple[tuple[str, str], ...]
    columns_added: tuple[str, ...]
    kind: LookupKind
    negate: bool = False

    def __post_init__(self) -> None:
        self.check_length()
        problems = Problems(place(self.input, f'lookup in "{self.relation.name}"'))
        object.__setattr__(self, "kind", LookupKind(self.kind))
        problems.add_all(_key_problems(self))
        problems.add_all(_column_problems(self))
        problems.raise_if_any()
        types = self.relation.types or {}
        on = ((declared_name(a, self.input.columns), declared_name(b, types) or b) for a, b in self.on)
        object.__setattr__(self, "on", tuple(on))
        added = (declared_name(name, types) or name for name in self.columns_added)
        object.__setattr__(self, "columns_added", tuple(added))

    @cached_property
    def columns(self) -> Mapping[str, str | None]:
        """The columns of its input and those added."""
        types = self.relation.types or {}
        return MappingProxyType({**self.input.columns, **{name: types.get(name) for name in self.columns_added}})

    def columns_needed(self, used: AbstractSet[str]) -> frozenset[str]:
        """The columns that are used and not added, and the key."""
        return frozenset(used - set(self.columns_added)).union(ours for ours, _ in self.on)

    def definition(self, used: AbstractSet[str]) -> tuple[object, ...]:
        """The relation's name, the key and the columns added that are used, sorted."""
        on = sorted((a.lower(), b.lower()) for a, b in self.on)
        added = sorted(name.lower() for name in self.columns_added if name in used)
        return ("lookup", str(self.kind), self.negate, self.relation.name, *on, "adds", *added)

    @cached_property
    def key(self) -> tuple[object, ...]:
        """What equality compares."""
        return ("lookup", self.relation, self.on, self.columns_added, self.kind, self.negate, self.input)

    def __str__(self) -> str:
        verb = "lookup" if self.kind is LookupKind.JOIN else "anti-semijoin" if self.negate else "semijoin"
        return f"{verb} {self.relation.name} on " + ", ".join(a if a == b else f"{a} = {b}" for a, b in self.on)


def make_join(
    node: Node,
    relation: Relation,
    on: str | Sequence[str] | Mapping[str, str],
    columns: Sequence[str] | None,
) -> Lookup:
    """Add a foreign-key join below a node; see `Rows.lookup`."""
    problems = Problems(place(node, "lookup"))
    pairs = problems.require(lambda: _pairs(relation, on))
    if columns is None and relation.columns is None:
        problems.add(f'the columns of "{relation.name}" are not known: say which to add, columns=[...], or its schema')
    problems.raise_if_any()
    keys = {theirs.lower() for _, theirs in pairs}
    others = tuple(column.name for column in relation.columns or () if column.name.lower() not in keys)
    added = others if columns is None else problems.require(lambda: given_names("columns", columns))
    return Lookup(node, relation, pairs, added, LookupKind.JOIN)


def make_semijoin(
    node: Node, relation: Relation, on: str | Sequence[str] | Mapping[str, str], *, negate: bool
) -> Lookup:
    """Add a semijoin below a node; see `Rows.semijoin`."""
    problems = Problems(place(node, "semijoin"))
    if not is_a(negate, bool):
        problems.add(Problem("negate must be True or False", got=repr(negate)))
    pairs = problems.require(lambda: _pairs(relation, on))
    problems.raise_if_any()
    return Lookup(node, relation, pairs, (), LookupKind.SEMIJOIN, negate)


def _pairs(relation: object, on: str | Sequence[str] | Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    if not isinstance(relation, Relation):
        raise InvalidNetworkError(f'a lookup needs relation("name", ...), got {type(relation).__name__}: {relation!r}')
    given: Collection[tuple[object, object]]
    if isinstance(on, Mapping):
        given = on.items()
    else:
        names = items_of(on)
        given = [(name, name) for name in ((on,) if names is None else names)]
    pairs = tuple((ours, theirs) for ours, theirs in given if isinstance(ours, str) and isinstance(theirs, str))
    if len(pairs) < len(given):
        raise InvalidNetworkError(
            Problem("on is a column, a list of columns or {column of the stream: column of the relation}", got=repr(on))
        )
    return pairs


def _key_problems(lookup: Lookup) -> Iterator[str]:
    if not lookup.on:
        yield "no key: say which columns must be equal, on=..."
    types = lookup.relation.types
    for ours, theirs in lookup.on:
        if declared_name(ours, lookup.input.columns) is None:
            yield Problem.of(unknown_column(ours, lookup.input.columns), lead="its key in the stream")
        if types is not None and declared_name(theirs, types) is None:
            yield Problem.of(unknown_column(theirs, types), lead="its key in the relation")


def _column_problems(lookup: Lookup) -> Iterator[str]:
    if lookup.kind is LookupKind.SEMIJOIN:
        if lookup.columns_added:
            yield Problem("a semijoin adds no columns", got=", ".join(lookup.columns_added))
        return
    if lookup.negate:
        yield "only a semijoin can be negated: a row without a partner has no columns to add"
    if not lookup.columns_added:
        yield "adds no column: use a semijoin to keep the rows that have a partner"
    types = lookup.relation.types
    seen: set[str] = set()
    for name in lookup.columns_added:
        if types is not None and declared_name(name, types) is None:
            yield Problem.of(unknown_column(name, types), lead="what it adds")
        elif name.lower() in seen:
            yield f'adds "{name}" twice'
        elif (present := declared_name(name, lookup.input.columns)) is not None:
            yield f'adds "{name}", but there is "{present}" already: leave it out (columns=...) or rename it'
        elif (reserved := reserved_problem("column", name, _WAY_OUT)) is not None:
            yield f"what it adds: {reserved}"
        seen.add(name.lower())
