"""Reading the lookups of a document: joins and semijoins with stored relations."""

from collections.abc import Iterable, Mapping

from streamshed.network.document.document_values import is_given, texts_at
from streamshed.network.model.lookup import Lookup, LookupKind, make_join
from streamshed.network.model.node import Node
from streamshed.network.model.operators import make_map
from streamshed.network.model.relation import Relation
from streamshed.network.words.columns import declared_name
from streamshed.network.words.document_problem import Place, problems_of
from streamshed.network.words.names import is_reserved


def read_semijoin(
    place: Place, body: Mapping[str, object], node: Node | None, relation: Relation | None
) -> Node | None:
    """Read a semijoin; where it has problems the rows stay as they are."""
    if node is None or relation is None:
        return node
    pairs = key_pairs(body.get("on"))
    negate = body.get("negate") is True
    if not pairs or _report_key(place.at("on"), pairs, node, relation):
        return node
    return Lookup(node, relation, tuple(pairs.values()), (), LookupKind.SEMIJOIN, negate)


def read_join(place: Place, body: Mapping[str, object], node: Node | None, relation: Relation | None) -> Node | None:
    """Read a foreign-key join.

    Returns:
        The join; where it has problems, the rows with the columns that it would add; None where these are not
        known.
    """
    added = texts_at(body, "columns")
    if node is None or (relation is None and not added):
        return None
    if relation is None:
        return with_columns(node, added.values())
    pairs = key_pairs(body.get("on"))
    key = tuple(pairs.values())
    key_problems = _report_key(place.at("on"), pairs, node, relation)
    if is_given(place, body, "columns"):
        for index, name in added.items():
            problems = problems_of(lambda name=name: _join(node, relation, key, [name]))  # type: ignore[misc]
            place.at("columns", index).report_all(name, [p for p in problems if p not in key_problems])
        names = list(added.values())
    elif relation.columns is None:
        place.report(
            list(body),
            f'the columns of "{relation.name}" are not known: add its schema, or say which "columns"',
        )
        return None
    else:
        keys = {theirs.lower() for _, theirs in key}
        names = [column.name for column in relation.columns if column.name.lower() not in keys]
        problems = problems_of(lambda: make_join(node, relation, dict(key), None)) if key else ()
        place.at("lookup").report_all(relation.name, [p for p in problems if p not in key_problems])
    if problems_of(lambda: _join(node, relation, key, names)):
        return with_columns(node, names)
    return _join(node, relation, key, names)


def with_columns(node: Node, names: Iterable[str]) -> Node:
    """The rows of a node with columns of unknown type, in the place of an operator that has problems."""
    possible = (name for name in names if name and not is_reserved(name))
    distinct = {name.lower(): name for name in possible if declared_name(name, node.columns) is None}
    return make_map(node, dict.fromkeys(distinct.values(), "NULL")) if distinct else node


def _join(node: Node, relation: Relation, key: tuple[tuple[str, str], ...], names: list[str]) -> Lookup:
    return Lookup(node, relation, key, tuple(names), LookupKind.JOIN)


def key_pairs(on: object) -> dict[tuple[str | int, ...], tuple[str, str]]:
    """The pairs of columns that are to be equal, by where they stand below `on`."""
    if isinstance(on, str):
        return {(): (on, on)}
    if isinstance(on, list):
        return {(index,): (name, name) for index, name in enumerate(on) if isinstance(name, str)}
    entries = on.items() if isinstance(on, dict) else ()
    return {(ours,): (ours, theirs) for ours, theirs in entries if isinstance(theirs, str)}


def _report_key(
    place: Place, pairs: Mapping[tuple[str | int, ...], tuple[str, str]], node: Node, relation: Relation
) -> frozenset[str]:
    """Report what is wrong with each pair; returns the model's sentences."""
    sentences: set[str] = set()
    for keys, pair in pairs.items():
        problems = problems_of(lambda pair=pair: Lookup(node, relation, (pair,), (), LookupKind.SEMIJOIN))  # type: ignore[misc]
        place.at(*keys).report_all(pair[1], problems)
        sentences.update(problems)
    return frozenset(sentences)
