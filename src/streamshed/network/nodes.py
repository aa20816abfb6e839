"""All kinds of nodes in one place."""

from typing import TypeAlias

from streamshed.network.columns import Column
from streamshed.network.function import FunctionReference
from streamshed.network.grouping import Aggregate, GroupKey, Windowed
from streamshed.network.lookup import Lookup, LookupKind
from streamshed.network.node import Node
from streamshed.network.operators import Apply, Filter, Map, Operator
from streamshed.network.relation import Relation
from streamshed.network.selection import definition_of, selection, stream_columns_used
from streamshed.network.stream import Identity, IdentityKind, Parse, Stream, TextFormat

RowNode: TypeAlias = Stream | Filter | Map | Lookup | Apply
"""Every kind of node that has rows, for exhaustive matching."""

NetworkNode: TypeAlias = RowNode | Aggregate
"""Every kind of node."""

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
    "NetworkNode",
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
