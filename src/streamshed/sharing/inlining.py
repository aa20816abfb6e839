"""Which tests are evaluated where they are used, and which are held in a column of the row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache

import sqlglot
from sqlglot import exp

from streamshed.network.sql.sql_syntax import Tree
from streamshed.sharing.dimension import dimension
from streamshed.sharing.instructions import Instruction, Test
from streamshed.sharing.layers import inputs

_MOST_CONSTANTS = 4


def inlined_tests(instructions: Sequence[Instruction], selections: Iterable[Iterable[str]]) -> frozenset[str]:
    """Return the tests that are not worth a column: used once, or as cheap as reading a column.

    Args:
        instructions: The straight line.
        selections: The conditions that queries and bits of masks ask for, one entry each.

    >>> cheap, dear, once = Test("__test_1", "size > 9", ()), Test("__test_2", "f(n)", ()), Test("__test_3", "g(n)", ())
    >>> selections = [("__test_1", "__test_2"), ("__test_1", "__test_2", "__test_3")]
    >>> sorted(inlined_tests([cheap, dear, once], selections))
    ['__test_1', '__test_3']
    """
    uses = Counter(condition for selection in selections for condition in selection)
    for instruction in instructions:
        uses.update(inputs(instruction))
    tests = [instruction for instruction in instructions if isinstance(instruction, Test)]
    return frozenset(t.column for t in tests if uses[t.column] <= 1 or (not t.guard and is_cheap(t.sql)))


@lru_cache(maxsize=16384)
def is_cheap(predicate: str) -> bool:
    """Tell whether a predicate only compares a column with a few constants."""
    value = _without_not(sqlglot.parse_one(dimension(predicate), dialect="spark"))
    constants = sqlglot.parse_one(predicate, dialect="spark").find_all(exp.Literal)
    return isinstance(value, exp.Column) and sum(1 for _ in constants) <= _MOST_CONSTANTS


def _without_not(tree: Tree) -> Tree:
    return _without_not(tree.this) if isinstance(tree, exp.Not | exp.Paren) else tree
