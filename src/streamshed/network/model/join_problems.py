"""What is wrong with the parts of a join, each told with the argument of `Node.join` that it is about."""

import re
from collections.abc import Iterator, Mapping

from streamshed.errors import InvalidExpressionError
from streamshed.network.model.node import Node
from streamshed.network.sql.expression import Expression
from streamshed.network.sql.weight_parts import weight_parts
from streamshed.network.terms.declared_types import declared_type, is_numeric
from streamshed.network.terms.join_condition import CommonItems, EqualColumns, JoinCondition, WeightedItems
from streamshed.network.terms.join_shedding import PartProblem
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


def side_problems(left: Node | None, right: Node | None) -> Iterator[PartProblem]:
    """Tell what cannot be joined; None: it is not known."""
    from streamshed.network.model.answer_side import answer_side_problems

    for name, side in (("left", left), ("right", right)):
        if side is None:
            continue
        if side.stream.joined is not None:
            joined = side.stream.name
            wanted = "only rows of a source can be joined, or answers of windows over them"
            yield name, f'its {name} side is made of rows of the join "{joined}": {wanted}'
        elif side.stream.is_numbered:
            yield name, f'its {name} side "{side.stream.name}" has numbers, but rows are joined by their time'
        else:
            yield from ((name, problem) for problem in answer_side_problems(name, side))
    if left is None or right is None or left.stream.is_numbered or right.stream.is_numbered:
        return
    if left.stream.clock != right.stream.clock:
        clocks = f'"{left.stream.clock}" and "{right.stream.clock}"'
        yield "right", f"its sides have the clocks {clocks}: streams that are joined share one, clock=... of the stream"


def sampling_problems(left: Node, right: Node, *, is_sampled: bool) -> Iterator[PartProblem]:
    """Tell if rows of a side cannot be drawn."""
    from streamshed.network.model.answer_side import sampled_answers_problems

    yield from (("mode", problem) for problem in sampled_answers_problems(left, right, is_sampled=is_sampled))


def window_problems(left_microseconds: int, right_microseconds: int) -> Iterator[PartProblem]:
    """Tell if windows cannot be."""
    lengths = (left_microseconds, right_microseconds)
    if min(lengths) < 0:
        yield "within", f"within cannot be negative, got {lengths[0]} and {lengths[1]} microseconds"
    elif not sum(lengths):
        yield "within", "within is 0 on both sides: nothing but equal times would join"


def basic_window_problems(basic_microseconds: int) -> Iterator[PartProblem]:
    """Tell if a basic window cannot be."""
    if basic_microseconds <= 0:
        yield "basic_window", f"its basic window is {basic_microseconds} microseconds, expected more than 0"


def condition_problems(condition: JoinCondition, left: Node, right: Node) -> Iterator[PartProblem]:
    """Tell if a condition cannot be: columns that do not exist, or cannot be compared."""
    for kind, names, node in (("left", condition.left, left), ("right", condition.right, right)):
        for name in names:
            if declared_name(name, node.columns) is None:
                yield "on", f"its {kind} side: {unknown_column(name, node.columns)}"
    for mine, theirs in zip(condition.left, condition.right, strict=True):
        types = [_type(mine, left), _type(theirs, right)]
        if len({_kind(one) for one in types if one is not None}) > 1:
            yield "on", f'it compares "{mine}", a {types[0]}, with "{theirs}", a {types[1]}: cast one of them in a map'
        what, wanted = _SETS.get(type(condition), ("", ("",)))
        for name, kind_of in ((mine, types[0]), (theirs, types[1])):
            if kind_of is not None and not kind_of.startswith(wanted):
                yield "on", f'"{name}" is a {kind_of}, expected {what}'
            if isinstance(condition, EqualColumns) and kind_of is not None and kind_of.startswith(_NO_KEYS):
                what = "numbers, texts, bytes, times or truth values"
                yield "on", f'"{name}" is a {kind_of}, but keys are {what}: name a field or element of it?'


def name_problems(left: Node, right: Node, prefixes: tuple[str, str], time: str) -> Iterator[PartProblem]:
    """Tell if columns of results cannot have their names."""
    unusable = [prefix for prefix in prefixes if not _PREFIX.fullmatch(prefix)]
    for prefix in unusable:
        yield (
            "prefixes",
            f'no name of a column can begin with the prefix "{prefix}": use letters, digits and _, a letter first',
        )
    if not is_filled_text(time):
        yield "time", f"its time is the name of a column, got {time!r}"
        return
    if is_reserved(time):
        yield "time", f'its time cannot be named "{time}": names that begin with two underscores are taken'
    if unusable or is_reserved(time):
        return
    if prefixes[0].lower() == prefixes[1].lower():
        others = 'prefixes=("left_", "right_") or others that differ'
        yield "prefixes", f'the columns of both sides would begin with "{prefixes[0]}": write {others}'
        return
    for problem in duplicate_names(column.name for column in joined_columns(left, right, prefixes, time)):
        yield "prefixes", f"{problem}: choose others, prefixes=(...) or time=..."


def weight_problems(
    weight: Expression | None, left: Node, right: Node, prefixes: tuple[str, str], time: str
) -> Iterator[PartProblem]:
    """Tell if results cannot be worth what is said."""
    if weight is None:
        return
    types = {column.name: column.type for column in joined_columns(left, right, prefixes, time)}
    unknown = list(column_problems(weight, types))
    for problem in unknown:
        yield "weight", f"its weight: {problem}"
    kind = declared_type(weight, types)
    if kind is not None and not is_numeric(kind):
        yield "weight", f'its weight "{weight}" is a {kind}, expected a number'
    elif not unknown:
        try:
            weight_parts(weight, *side_columns(left, right, prefixes))
        except InvalidExpressionError as error:
            yield "weight", f"its weight: {error}"


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
