"""Lookups: joins and semijoins with stored relations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from streamshed.network.document.document_values import indexed_texts, is_given
from streamshed.network.document.operators.operator_form import FROM, Body, Context, OperatorForm, with_columns
from streamshed.network.document.section import Field, Section
from streamshed.network.model.lookup import Lookup, LookupKind, make_join
from streamshed.network.model.node import Node
from streamshed.network.model.relation import Relation
from streamshed.network.words.document_problem import Place, problems_of
from streamshed.network.words.schema_forms import Schema, flag, names, text

Pairs: TypeAlias = Mapping[tuple[str | int, ...], tuple[str, str]]
"""Columns that are to be equal, by where they stand below their key."""

KEY: Schema = {
    "type": ["object", "array", "string"],
    "items": {"type": "string", "minLength": 1},
    "additionalProperties": {"type": "string", "minLength": 1},
    "minItems": 1,
    "minProperties": 1,
    "minLength": 1,
}


def key_pairs(on: object) -> Pairs:
    """The pairs of columns that are to be equal.

    >>> key_pairs(["host"]), key_pairs({"src": "host"})
    ({(0,): ('host', 'host')}, {('src',): ('src', 'host')})
    """
    if isinstance(on, str):
        return {(): (on, on)}
    if isinstance(on, list):
        return {(index,): (name, name) for index, name in enumerate(on) if isinstance(name, str)}
    entries = on.items() if isinstance(on, dict) else ()
    return {(ours,): (ours, theirs) for ours, theirs in entries if isinstance(theirs, str)}


def _read_relation(place: Place, name: str, context: Context) -> Relation | None:
    if name not in context.relations:
        place.report_unknown("relation", name, context.relations)
    return context.relations.get(name)


def _relation(description: str) -> Field:
    schema = text(description, examples=["hosts"])
    return Field(schema, "relation", reader=_read_relation, write=lambda relation: relation.name)


_ON = Field(
    KEY
    | {
        "description": "The key: `{column of the stream: column of the relation}`; for equal names, a column or a"
        " list.",
        "examples": [{"src_host": "host"}],
    },
    read=key_pairs,
    write=dict,
)
_LOOKUP = Section(
    "Adds columns of the matching row of a relation. Rows without a match are dropped.",
    {
        "lookup": _relation("The relation. It must have one row per key."),
        "from": FROM,
        "on": _ON,
        "columns": Field(
            names("The relation's columns to add. By default all but the key.", ["subnet"]),
            "columns_added",
            read=indexed_texts,
            write=list,
        ),
    },
    ("lookup", "from", "on"),
)
_SEMIJOIN = Section(
    "Keeps the rows that have a match in a relation.",
    {
        "semijoin": _relation("The relation. Keys may repeat."),
        "from": FROM,
        "on": _ON,
        "negate": flag("Keep the rows without a match instead."),
    },
    ("semijoin", "from", "on"),
)


def _read_semijoin(place: Place, body: Body, context: Context) -> Node | None:
    """Read a semijoin; where it has problems the rows stay as they are."""
    values, node = _SEMIJOIN.values(place, body, context=context), context.node
    relation, pairs = values.pop("relation", None), values.pop("on", None)
    if node is None or relation is None or not pairs or _report_key(place.at("on"), pairs, node, relation):
        return node
    return Lookup(node, relation, tuple(pairs.values()), (), LookupKind.SEMIJOIN, **values)


def _read_lookup(place: Place, body: Body, context: Context) -> Node | None:
    """Read a join; where it has problems: the rows with the columns that it would add, None where these are unknown."""
    values, node = _LOOKUP.values(place, body, context=context), context.node
    relation, pairs = values.get("relation"), values.get("on", {})
    added: Mapping[int, str] = values.get("columns_added", {})
    if node is None or (relation is None and not added):
        return None
    if relation is None:
        return with_columns(node, added.values())
    key = tuple(pairs.values())
    key_problems = _report_key(place.at("on"), pairs, node, relation)
    if is_given(place, body, "columns"):
        for index, name in added.items():
            problems = problems_of(lambda name=name: _join(node, relation, key, [name]))  # type: ignore[misc]
            place.at("columns", index).report_all(name, [p for p in problems if p not in key_problems])
        columns = list(added.values())
    elif relation.columns is None:
        place.report(
            list(body),
            f'the columns of "{relation.name}" are not known: add its schema, or say which "columns"',
        )
        return None
    else:
        keys = {theirs.lower() for _, theirs in key}
        columns = [column.name for column in relation.columns if column.name.lower() not in keys]
        problems = problems_of(lambda: make_join(node, relation, dict(key), None)) if key else ()
        place.at("lookup").report_all(relation.name, [p for p in problems if p not in key_problems])
    if problems_of(lambda: _join(node, relation, key, columns)):
        return with_columns(node, columns)
    return _join(node, relation, key, columns)


def _join(node: Node, relation: Relation, key: tuple[tuple[str, str], ...], columns: list[str]) -> Lookup:
    return Lookup(node, relation, key, tuple(columns), LookupKind.JOIN)


def _report_key(place: Place, pairs: Pairs, node: Node, relation: Relation) -> frozenset[str]:
    """Report what is wrong with each pair; returns the model's sentences."""
    sentences: set[str] = set()
    for keys, pair in pairs.items():
        problems = problems_of(lambda pair=pair: Lookup(node, relation, (pair,), (), LookupKind.SEMIJOIN))  # type: ignore[misc]
        place.at(*keys).report_all(pair[1], problems)
        sentences.update(problems)
    return frozenset(sentences)


def _written(node: Node, kind: LookupKind, section: Section) -> dict[str, Any] | None:
    return section.said(node) if isinstance(node, Lookup) and node.kind is kind else None


LOOKUP = OperatorForm(_LOOKUP.schema, _read_lookup, lambda node: _written(node, LookupKind.JOIN, _LOOKUP))
SEMIJOIN = OperatorForm(_SEMIJOIN.schema, _read_semijoin, lambda node: _written(node, LookupKind.SEMIJOIN, _SEMIJOIN))
