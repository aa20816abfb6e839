"""What is wrong with the parts of a join, each told with the argument of `Rows.join` that it is about."""

import re
from collections.abc import Iterator, Mapping

from streamshed.errors import InvalidExpressionError, Problem
from streamshed.network.model.answer_side import answer_side_problems, sampled_answers_problems
from streamshed.network.model.node import Node
from streamshed.network.sql.expression import Expression
from streamshed.network.sql.weight_parts import weight_parts
from streamshed.network.terms.declared_types import declared_type, is_numeric
from streamshed.network.terms.join_condition import CommonItems, EqualColumns, JoinCondition, WeightedItems
from streamshed.network.terms.problems import column_problems, unknown_column
from streamshed.network.words.columns import Column, declared_name, duplicate_names
from streamshed.network.words.given import is_filled_text
from streamshed.network.words.names import is_reserved

_WHOLE = frozenset({"tinyint", "smallint", "int", "bigint"})
_PREFIX = re.compile(r"[^\W\d]\w*")
_NO_KEYS = ("array", "map", "struct", "variant")
_SETS: Mapping[type, tuple[str, tuple[str, ...]]] = {
    CommonItems: ("a list", ("array",)),
    WeightedItems: ("a map from items to weights", ("map", "array<struct")),
}


def joined_columns(left: Node, right: Node, prefixes: tuple[str, str], time: str) -> tuple[Column, ...]:
    """The columns of a result: its time, all of the left row, all of the right row."""
    sides = zip(prefixes, (left, right), strict=True)
    of_sides = (Column(prefix + name, kind) for prefix, node in sides for name, kind in node.columns.items())
    return (Column(time, "timestamp"), *of_sides)


def side_columns(left: Node, right: Node, prefixes: tuple[str, str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The columns of a result that come from its left row, and those that come from its right row."""
    left_columns, right_columns = (
        [prefix + name for name in node.columns] for prefix, node in zip(prefixes, (left, right), strict=True)
    )
    return tuple(left_columns), tuple(right_columns)


def side_problems(left: Node | None, right: Node | None) -> Iterator[Problem]:
    """Tell what cannot be joined; None: it is not known."""
    for name, side, key in (("left", left, "from"), ("right", right, "join")):
        if side is None:
            continue
        if side.stream.joined is not None:
            joined = side.stream.name
            wanted = "only rows of a source can be joined, or answers of windows over them"
            yield Problem(f'its {name} side is made of rows of the join "{joined}": {wanted}', element=key)
        elif side.stream.is_numbered:
            says = f'its {name} side "{side.stream.name}" has numbers, but rows are joined by their time'
            yield Problem(says, key)
        else:
            yield from (Problem.of(problem, element=key) for problem in answer_side_problems(name, side))
    if left is None or right is None or left.stream.is_numbered or right.stream.is_numbered:
        return
    if left.stream.clock != right.stream.clock:
        clocks = f'"{left.stream.clock}" and "{right.stream.clock}"'
        yield Problem(
            f"its sides have the clocks {clocks}: streams that are joined share one, clock=... of the stream",
            element="join",
        )


def sampling_problems(left: Node, right: Node, *, is_sampled: bool) -> Iterator[Problem]:
    """Tell if rows of a side cannot be drawn."""
    for problem in sampled_answers_problems(left, right, is_sampled=is_sampled):
        yield Problem.of(problem, element="mode")


def window_problems(left_microseconds: int, right_microseconds: int) -> Iterator[Problem]:
    """Tell if windows cannot be."""
    lengths = (left_microseconds, right_microseconds)
    if min(lengths) < 0:
        given = f"{lengths[0]} and {lengths[1]} microseconds"
        yield Problem("within cannot be negative", got=given, element="within")
    elif not sum(lengths):
        yield Problem("within is 0 on both sides: nothing but equal times would join", element="within")


def basic_window_problems(basic_microseconds: int) -> Iterator[Problem]:
    """Tell if a basic window cannot be."""
    if basic_microseconds <= 0:
        yield Problem(
            f"its basic window is {basic_microseconds} microseconds, expected more than 0", element="basic_window"
        )


def condition_problems(condition: JoinCondition, left: Node, right: Node) -> Iterator[Problem]:
    """Tell if a condition cannot be: columns that do not exist, or cannot be compared."""
    for kind, names, node in (("left", condition.left, left), ("right", condition.right, right)):
        for name in names:
            if declared_name(name, node.columns) is None:
                yield Problem.of(unknown_column(name, node.columns), lead=f"its {kind} side", element="on")
    for mine, theirs in zip(condition.left, condition.right, strict=True):
        types = [_type(mine, left), _type(theirs, right)]
        if len({_kind(one) for one in types if one is not None}) > 1:
            yield Problem(
                f'it compares "{mine}", a {types[0]}, with "{theirs}", a {types[1]}: cast one of them in a map',
                element="on",
            )
        what, wanted = _SETS.get(type(condition), ("", ("",)))
        for name, kind_of in ((mine, types[0]), (theirs, types[1])):
            if kind_of is not None and not kind_of.startswith(wanted):
                yield Problem(f'"{name}" is a {kind_of}, expected {what}', element="on")
            if isinstance(condition, EqualColumns) and kind_of is not None and kind_of.startswith(_NO_KEYS):
                what = "numbers, texts, bytes, times or truth values"
                yield Problem(
                    f'"{name}" is a {kind_of}, but keys are {what}: name a field or element of it?', element="on"
                )


def name_problems(left: Node, right: Node, prefixes: tuple[str, str], time: str) -> Iterator[Problem]:
    """Tell if columns of results cannot have their names."""
    unusable = [prefix for prefix in prefixes if not _PREFIX.fullmatch(prefix)]
    for prefix in unusable:
        yield Problem(
            f'no name of a column can begin with the prefix "{prefix}": use letters, digits and _, a letter first',
            element="prefixes",
        )
    if not is_filled_text(time):
        yield Problem("its time is the name of a column", got=repr(time), element="time")
        return
    if is_reserved(time):
        yield Problem(
            f'its time cannot be named "{time}": names that begin with two underscores are taken', element="time"
        )
    if unusable or is_reserved(time):
        return
    if prefixes[0].lower() == prefixes[1].lower():
        others = 'prefixes=("left_", "right_") or others that differ'
        yield Problem(f'the columns of both sides would begin with "{prefixes[0]}": write {others}', element="prefixes")
        return
    for problem in duplicate_names(column.name for column in joined_columns(left, right, prefixes, time)):
        yield Problem(f"{problem}: choose others, prefixes=(...) or time=...", element="prefixes")


def weight_problems(
    weight: Expression | None, left: Node, right: Node, prefixes: tuple[str, str], time: str
) -> Iterator[Problem]:
    """Tell if results cannot be worth what is said."""
    if weight is None:
        return
    types = {column.name: column.type for column in joined_columns(left, right, prefixes, time)}
    unknown = list(column_problems(weight, types))
    for problem in unknown:
        yield Problem.of(problem, lead="its weight", element="weight")
    kind = declared_type(weight, types)
    if kind is not None and not is_numeric(kind):
        yield Problem(f'its weight "{weight}" is a {kind}, expected a number', element="weight")
    elif not unknown:
        try:
            weight_parts(weight, *side_columns(left, right, prefixes))
        except InvalidExpressionError as error:
            yield Problem.of(error.problems[0], lead="its weight", element="weight")


def _type(name: str, node: Node) -> str | None:
    declared = declared_name(name, node.columns)
    return None if declared is None else node.columns[declared]


def _kind(of: str) -> str:
    """What types that can be compared have in common; of lists, their items'."""
    if of.startswith("array<"):
        return f"array<{_kind(of.removeprefix('array<').removesuffix('>'))}>"
    if of in _WHOLE:
        return "whole number"
    if of in {"float", "double"}:
        return "double"
    return "string" if of.startswith(("char", "varchar")) else of
