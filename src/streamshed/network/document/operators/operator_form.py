"""What the document knows of each operator, and what an operator is read with."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from streamshed.network.document.document_sql import SqlReader
from streamshed.network.document.section import Field, elsewhere
from streamshed.network.model.node import Node
from streamshed.network.model.operators import make_map
from streamshed.network.model.relation import Relation
from streamshed.network.words.columns import declared_name
from streamshed.network.words.document_problem import Place
from streamshed.network.words.names import is_reserved
from streamshed.network.words.schema_forms import Schema, text

Body: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Context:
    """What an operator or a query is read with.

    Attributes:
        name: Its name.
        node: Where its rows come from; None: not known, so that columns are not checked.
        sql: Parses SQL.
        relations: The stored relations by name; None for those that have problems.
        right: Of a join, where the rows of its right side come from; None: likewise.
    """

    name: str
    node: Node | None
    sql: SqlReader
    relations: Mapping[str, Relation | None]
    right: Node | None = None


@dataclass(frozen=True, slots=True)
class OperatorForm:
    """One kind of operator.

    Attributes:
        schema: Its keys. The first that is required tells it from other operators.
        read: Reads it. Where it has problems: an operator with the columns that it would have, so that those below can
            be checked; None where not even these are known.
        write: Writes a node; None: it is another operator. Nodes that rows come from stay nodes.
    """

    schema: Schema
    read: Callable[[Place, Body, Context], Node | None]
    write: Callable[[Node], dict[str, Any] | None]

    @property
    def mark(self) -> str:
        """The key that tells it from other operators."""
        return str(self.schema["required"][0])


def input_field(schema: Schema, name: str = "input") -> Field:
    """A key that names where rows come from: read before all else, as it decides the order in which operators are."""
    return Field(schema, name, reader=elsewhere)


FROM = input_field(text("The stream or operator whose rows come in.", examples=["packets"]))


def with_columns(node: Node, names: Iterable[str]) -> Node:
    """The rows of a node with columns of unknown type, in the place of an operator that has problems."""
    possible = (name for name in names if name and not is_reserved(name))
    distinct = {name.lower(): name for name in possible if declared_name(name, node.columns) is None}
    return make_map(node, dict.fromkeys(distinct.values(), "NULL")) if distinct else node
