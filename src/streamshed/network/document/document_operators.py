"""Reading the operators of a document, each below a node that is read already."""

from collections.abc import Mapping
from dataclasses import dataclass

from streamshed.network.document.document_aggregates import read_aggregate
from streamshed.network.document.document_lookups import read_join, read_semijoin, with_columns
from streamshed.network.document.document_sql import SqlReader
from streamshed.network.document.document_values import is_given, mapping_at, text_at, texts_at
from streamshed.network.model.node import Node
from streamshed.network.model.operators import Apply, make_filter, make_map, written_problems
from streamshed.network.model.relation import Relation
from streamshed.network.terms.function import function_reference
from streamshed.network.terms.problems import unknown_column
from streamshed.network.words.columns import declared_name, duplicate_names, normal_type
from streamshed.network.words.document_problem import Place, problems_of


@dataclass(frozen=True, slots=True)
class OperatorReader:
    """Reads operators.

    Where an operator has problems it returns one with the columns that it would have, so that those below can
    be checked; where not even these are known it returns None, and below None only what needs no columns is
    checked.

    Attributes:
        sql: Parses SQL.
        relations: The stored relations by name; None for those that have problems.
    """

    sql: SqlReader
    relations: Mapping[str, Relation | None]

    def read(self, place: Place, body: Mapping[str, object], node: Node | None) -> Node | None:
        """Read one operator.

        Args:
            place: Where it stands, and where its problems go.
            body: What the document says of it, as far as its shape is right.
            node: Where its rows come from.
        """
        if is_given(place, body, "filter"):
            return self.filter(place.at("filter"), text_at(body, "filter"), node)
        if is_given(place, body, "map"):
            return self._map(place, mapping_at(body, "map"), node)
        if is_given(place, body, "apply"):
            return _apply(place, body, node)
        if is_given(place, body, "lookup"):
            return read_join(place, body, node, self._relation(place.at("lookup"), text_at(body, "lookup")))
        if is_given(place, body, "semijoin"):
            relation = self._relation(place.at("semijoin"), text_at(body, "semijoin"))
            return read_semijoin(place, body, node, relation)
        if is_given(place, body, "aggregates"):
            return self._aggregate(place, body, node)
        return None

    def filter(self, place: Place, text: str | None, node: Node | None) -> Node | None:
        """Read a predicate; where it has problems the rows stay as they are."""
        if text is None or self.sql.expression(place, text) is None or node is None:
            return node
        problems = problems_of(lambda: make_filter(node, text))
        place.report_all(text, problems)
        return node if problems else make_filter(node, text)

    def _map(self, place: Place, body: Mapping[str, object], node: Node | None) -> Node | None:
        texts = {name: text for name, text in body.items() if isinstance(text, str)}
        sound: dict[str, str] = {}
        for name, text in texts.items():
            here = place.at("map", name)
            if self.sql.expression(here, text) is None or node is None:
                continue
            problems = problems_of(lambda sql=text, column=name: make_map(node, {column: sql}))  # type: ignore[misc]
            here.report_all(text, problems)
            if not problems:
                sound[name] = text
        if node is None or place.at("map").is_unusable:
            return None
        duplicates = duplicate_names(body)
        place.at("map").report_all(list(body), duplicates)
        return make_map(node, sound) if len(sound) == len(body) > 0 and not duplicates else with_columns(node, body)

    def _aggregate(self, place: Place, body: Mapping[str, object], node: Node | None) -> Node | None:
        """Read an aggregate; where it has problems, what is below it is checked for nothing that needs columns."""
        return read_aggregate(place, body, node, self.sql)

    def _relation(self, place: Place, name: str | None) -> Relation | None:
        if name is not None and name not in self.relations:
            place.report_unknown("relation", name, self.relations)
        return None if name is None else self.relations.get(name)


def _apply(place: Place, body: Mapping[str, object], node: Node | None) -> Node | None:
    function, into, returns = (text_at(body, key) for key in ("apply", "into", "returns"))
    columns = texts_at(body, "columns")
    reference = function and place.at("apply").attempt(function, lambda: function_reference(function))
    kind = returns and place.at("returns").attempt(returns, lambda: normal_type(returns))
    if node is None or into is None:
        return None
    unknown = [index for index, name in columns.items() if declared_name(name, node.columns) is None]
    for index in unknown:
        place.at("columns", index).report_all(columns[index], [unknown_column(columns[index], node.columns)])
    misplaced = written_problems(into, node)
    place.at("into").report_all(into, misplaced)
    if not (reference and kind and columns) or unknown or misplaced:
        return with_columns(node, [into])
    return place.attempt(function, lambda: Apply(node, reference, tuple(columns.values()), into, kind))
