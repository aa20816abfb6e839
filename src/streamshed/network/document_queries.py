"""Reading the queries of a document, each below a node that is read already."""

import math
from collections.abc import Mapping
from typing import TypeVar

from streamshed.network.aggregate import AggregateCall
from streamshed.network.document_operators import OperatorReader
from streamshed.network.document_problem import Place, problems_of
from streamshed.network.document_values import duration_at, is_given, mapping_at, text_at
from streamshed.network.expression import quoted
from streamshed.network.grouping import Aggregate, GroupKey
from streamshed.network.names import name_problem
from streamshed.network.node import Node
from streamshed.network.query import AnswerMode, Query
from streamshed.network.window import WindowSpecification

_ANY_WINDOW = WindowSpecification(1, 1)
_ANY_CALL = ("rows", AggregateCall.__new__(AggregateCall))
