"""Operators over the rows of one input: filter, map, user function."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property, partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from streamshed.errors import InvalidNetworkError, Problem
from streamshed.network.model.node import Node
from streamshed.network.sql.expression import Expression, conjuncts, parse_expression
from streamshed.network.terms.declared_types import declared_type
from streamshed.network.terms.function import FunctionReference, function_reference
from streamshed.network.terms.problems import Problems, column_problems, declared_columns, unknown_column
from streamshed.network.words.columns import declared_name, duplicate_names, normal_type
from streamshed.network.words.given import given_names, is_filled_text
from streamshed.network.words.names import reserved_problem

if TYPE_CHECKING:
    from streamshed.network.model.stream import Stream


MOST_OPERATORS = 200


class Operator(Node):
    """A node with one input."""

    input: Node

    @cached_property
    def stream(self) -> "Stream":
        """The stream that its rows come from."""
        return self.input.stream

    def check_length(self) -> None:
        """Refuse a line of operators that is too long to be worked with.

        Raises:
            InvalidNetworkError: There are more than `MOST_OPERATORS` from the stream on.
        """
        if len(self.input.path) > MOST_OPERATORS:
            raise InvalidNetworkError(
                f'stream "{self.stream.name}": more than {MOST_OPERATORS} operators follow one another: put filters'
                " together by AND, and maps into one"
            )

    @cached_property
    def path(self) -> tuple[Node, ...]:
        """The nodes from the stream, first, to this one, last."""
        return (*self.input.path, self)


@dataclass(frozen=True, eq=False, repr=False)
class Filter(Operator):
    """The rows of `input` for which `predicate` is true; the order of its conjuncts does not matter."""

    input: Node
    predicate: Expression

    def __post_init__(self) -> None:
        self.check_length()
        problems = Problems(place(self.input, "filter"))
        problems.add_all(column_problems(self.predicate, self.input.columns))
        problems.raise_if_any()
        object.__setattr__(self, "predicate", declared_columns(self.predicate, self.input.columns))

    @property
    def columns(self) -> Mapping[str, str | None]:
        """The columns of its input."""
        return self.input.columns

    def columns_needed(self, used: AbstractSet[str]) -> frozenset[str]:
        """The columns that are used, and those of the predicate."""
        return self.predicate.columns | used

    def definition(self, used: AbstractSet[str]) -> tuple[object, ...]:  # noqa: ARG002 - it keeps or drops whole rows
        """The conjuncts, sorted."""
        return ("filter", *sorted({part.canonical for part in conjuncts(self.predicate)}))

    @cached_property
    def key(self) -> tuple[object, ...]:
        """What equality compares."""
        return (*self.definition(frozenset()), self.input)

    def __str__(self) -> str:
        return f"filter {self.predicate}"


@dataclass(frozen=True, eq=False, repr=False)
class Map(Operator):
    """The rows of `input` with columns added or replaced, each computed from the columns before."""

    input: Node
    assignments: tuple[tuple[str, Expression], ...]

    def __post_init__(self) -> None:
        self.check_length()
        problems = Problems(place(self.input, "map"))
        if not self.assignments:
            problems.add('nothing to compute, write a column and its SQL, such as map(kilobytes="size / 1024")')
        problems.add_all(duplicate_names(name for name, _ in self.assignments))
        problems.add_all(_assignment_problems(self.assignments, self.input))
        problems.raise_if_any()
        declared = (
            (
                declared_name(name, self.input.columns) or name,
                declared_columns(expression, self.input.columns),
            )
            for name, expression in self.assignments
        )
        object.__setattr__(self, "assignments", tuple(declared))

    @cached_property
    def columns(self) -> Mapping[str, str | None]:
        """The columns of its input and those assigned; a copied column keeps its type."""
        types = {name: declared_type(expression, self.input.columns) for name, expression in self.assignments}
        return MappingProxyType({**self.input.columns, **types})

    def columns_needed(self, used: AbstractSet[str]) -> frozenset[str]:
        """The columns that are used and not assigned, and those of the assignments that are used."""
        passed_through = frozenset(used - {name for name, _ in self.assignments})
        return passed_through.union(*(expression.columns for name, expression in self.assignments if name in used))

    def definition(self, used: AbstractSet[str]) -> tuple[object, ...]:
        """The assignments that are used, sorted by column."""
        used_assignments = [
            (name.lower(), expression.canonical) for name, expression in self.assignments if name in used
        ]
        return ("map", *sorted(used_assignments)) if used_assignments else ()

    @cached_property
    def key(self) -> tuple[object, ...]:
        """What equality compares."""
        return (
            "map",
            *sorted((name, expression.canonical) for name, expression in self.assignments),
            self.input,
        )

    def __str__(self) -> str:
        return "map " + ", ".join(f"{name} = {expression}" for name, expression in self.assignments)


@dataclass(frozen=True, eq=False, repr=False)
class Apply(Operator):
    """The rows of `input` with one column added or replaced by a vectorized function of others."""

    input: Node
    function: FunctionReference
    arguments: tuple[str, ...]
    into: str
    returns: str

    def __post_init__(self) -> None:
        self.check_length()
        problems = Problems(place(self.input, f'apply "{self.function.name}"'))
        if not self.arguments:
            problems.add("the function needs at least one column")
        problems.add_all(
            unknown_column(name, self.input.columns)
            for name in self.arguments
            if declared_name(name, self.input.columns) is None
        )
        if not is_filled_text(self.into):
            problems.add(Problem("the column for the result is text that is not empty", got=repr(self.into)))
        else:
            problems.add_all(written_problems(self.into, self.input))
        returns = problems.attempt(lambda: normal_type(self.returns))
        problems.raise_if_any()
        declared = tuple(declared_name(name, self.input.columns) for name in self.arguments)
        object.__setattr__(self, "arguments", declared)
        object.__setattr__(self, "into", declared_name(self.into, self.input.columns) or self.into)
        object.__setattr__(self, "returns", returns)

    @cached_property
    def columns(self) -> Mapping[str, str | None]:
        """The columns of its input and that of the result."""
        return MappingProxyType({**self.input.columns, self.into: self.returns})

    def columns_needed(self, used: AbstractSet[str]) -> frozenset[str]:
        """The columns that are used, those of the arguments instead of that of the result."""
        return frozenset(used - {self.into}).union(self.arguments if self.into in used else ())

    def definition(self, used: AbstractSet[str]) -> tuple[object, ...]:
        """The function, its arguments and its result, if that is used."""
        if self.into not in used:
            return ()
        arguments = tuple(name.lower() for name in self.arguments)
        return ("apply", self.function.definition, arguments, self.into.lower(), self.returns)

    @cached_property
    def key(self) -> tuple[object, ...]:
        """What equality compares."""
        return ("apply", self.function, self.arguments, self.into, self.returns, self.input)

    def __str__(self) -> str:
        return f"apply {self.into} = {self.function.name}({', '.join(self.arguments)})"


def make_filter(node: Node, predicate: str) -> Filter:
    """Add a filter below a node; see `Rows.filter`."""
    problems = Problems(place(node, "filter"))
    return Filter(node, problems.require(lambda: parse_expression(predicate)))


def make_map(node: Node, columns: Mapping[str, str]) -> Map:
    """Add a map below a node; see `Rows.map`."""
    problems = Problems(place(node, "map"))
    assignments = []
    for name, sql in columns.items():
        expression = problems.attempt(partial(parse_expression, sql))
        if expression is not None:
            assignments.append((name, expression))
    if len(assignments) < len(columns):
        problems.add_all(_assignment_problems(assignments, node))
    problems.raise_if_any()
    return Map(node, tuple(assignments))


def make_apply(
    node: Node, function: Callable[..., Any] | str, columns: Sequence[str], into: str, returns: str
) -> Apply:
    """Add a user's function below a node; see `Rows.apply`."""
    problems = Problems(place(node, "apply"))
    names = problems.attempt(lambda: given_names("columns", columns))
    reference = problems.require(lambda: function_reference(function))
    problems.raise_if_any()
    return Apply(node, reference, names or (), into, returns)


def may_drop(node: Node) -> bool:
    """Tell whether fewer rows may come out of a node than go in."""
    return len(node.path) > 1 and not isinstance(node, Map | Apply)


def last_drop(node: Node) -> Node:
    """Return the node itself or the next above it that may drop rows; the stream where none does.

    Example:
        >>> from streamshed.network.source.sources import rate
        >>> from streamshed.network.model.declared_stream import stream
        >>> large = stream("ticks", rate(100), time="timestamp").filter("value > 3")
        >>> str(last_drop(large.map(half="value / 2").node)), str(last_drop(large.stream))
        ('filter value > 3', 'ticks')
    """
    return next((above for above in reversed(node.path) if may_drop(above)), node.stream)


def last_aggregate(node: Node) -> Node | None:
    """Return the last aggregate on the way to a node, whose answers its rows are; None: they are a stream's."""
    return next((above for above in reversed(node.path) if above.is_answers), None)


def place(node: Node, operator: str) -> str:
    """Say where an operator stands, for messages."""
    return f'stream "{node.stream.name}", {operator}'


def written_problems(name: str, node: Node) -> list[str]:
    """Tell if a column cannot be written: event time, which windows and watermark both need, and reserved names."""
    if (aggregated := last_aggregate(node)) is not None:
        if name.lower() == next(iter(aggregated.columns)):
            return [f'"{name}" is the time of the answers of "{aggregated}" and cannot be replaced']
    elif name.lower() in {column.lower() for column in node.stream.attribute.expression.columns}:
        what = "number" if node.stream.is_numbered else "event time"
        if node.stream.attribute.column is None:
            return [f'"{name}" is what {what} is made of and cannot be replaced: give the new column another name']
        argument = "number" if node.stream.is_numbered else "time"
        return [f'"{name}" is the {what} and cannot be replaced: declare another column as {argument}= of the stream']
    reserved = reserved_problem("column", name)
    return [] if reserved is None else [reserved]


def _assignment_problems(assignments: Iterable[tuple[str, Expression]], node: Node) -> Iterator[str]:
    for name, expression in assignments:
        yield from column_problems(expression, node.columns)
        yield from written_problems(name, node)
