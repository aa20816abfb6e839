"""All kinds of nodes in one place."""

from typing import TypeAlias

from streamshed.network.model.grouping import Aggregate, GroupKey, Windowed
from streamshed.network.model.lookup import Lookup, LookupKind
from streamshed.network.model.node import Node
from streamshed.network.model.operators import Apply, Filter, Map, Operator
from streamshed.network.model.relation import Relation
from streamshed.network.model.selection import definition_of, selection, stream_columns_used
from streamshed.network.model.stream import Identity, IdentityKind, Parse, Stream, TextFormat
from streamshed.network.terms.function import FunctionReference
from streamshed.network.words.columns import Column

RowNode: TypeAlias = Stream | Filter | Map | Lookup | Apply
"""Every kind of node that has rows, for exhaustive matching."""

__all__ = [
    "Aggregate",
    "Apply",
    "Column",
    "Filter",
    "FunctionReference",
    "GroupKey",
    "Identity",
    "IdentityKind",
    "Lookup",
    "LookupKind",
    "Map",
    "Node",
    "Operator",
    "Parse",
    "Relation",
    "RowNode",
    "Stream",
    "TextFormat",
    "Windowed",
    "definition_of",
    "selection",
    "stream_columns_used",
]
