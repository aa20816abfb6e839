"""Windows, group keys and aggregates over the rows of a node."""

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import cached_property, partial
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from streamshed.errors import Problem
from streamshed.network.model.node import Node
from streamshed.network.model.operators import Operator, last_aggregate, place
from streamshed.network.sql.expression import Expression, parse_expression, quoted
from streamshed.network.terms.aggregate import AggregateCall, AggregateKind
from streamshed.network.terms.declared_types import aggregate_problem, aggregate_type, declared_type, key_problem
from streamshed.network.terms.derivation import Answered, Derivation, parse_answer
from streamshed.network.terms.problems import Problems, column_problems, declared_columns
from streamshed.network.terms.view_columns import view_problems, window_columns
from streamshed.network.terms.window import WindowSpecification
from streamshed.network.words.given import is_text
from streamshed.network.words.names import name_problem
from streamshed.network.words.numbering import is_row_count, parse_window_length


@dataclass(frozen=True, slots=True)
class GroupKey:
    """One value that the rows of a group have in common; null is a value, too."""

    name: str
    expression: Expression


NamedCall: TypeAlias = tuple[str, AggregateCall]
NamedAnswer: TypeAlias = tuple[str, Answered]


class PartOf(NamedTuple):
    """What an aggregate that nobody asked for by itself is a part of: the name of the answer, and which part."""

    name: str
    derivation: Derivation
    number: int


@dataclass(frozen=True, eq=False, repr=False)
class Aggregate(Operator):
    """Aggregates over each window, and each group in it, of the rows of `input`.

    Its answers are rows, too: they can be filtered, mapped, looked up, and aggregated once more. Such a row has the
    columns that the answer has, and its time is the start of its window ([T06] §3.2). A window without rows has no
    answer to be handed on.

    Attributes:
        input: Where the rows come from.
        over: The windows over event time, numbers, or the rows of each group.
        keys: What rows are grouped by, in order; empty: all rows of a window are one group.
        aggregates: (name, call or arithmetic over calls), in order.
    """

    input: Node
    over: WindowSpecification
    keys: tuple[GroupKey, ...]
    aggregates: tuple[NamedAnswer, ...]

    def __post_init__(self) -> None:
        self.check_length()
        problems = Problems(place(self.input, "aggregate"))
        problems.add_all(_name_problems(self))
        for expression in self._expressions:
            problems.add_all(column_problems(expression, self.input.columns))
        problems.add_all(_type_problems(self))
        problems.add_all(_count_problems(self))
        if self.over.is_numbered != self.stream.is_numbered and not self.over.is_by_count:
            problems.add("windows lie along numbers if, and only if, its stream has them")
        problems.raise_if_any()
        columns = self.input.columns
        keys = (GroupKey(key.name, declared_columns(key.expression, columns)) for key in self.keys)
        object.__setattr__(self, "keys", tuple(keys))
        answers = ((name, _declared(answer, columns)) for name, answer in self.aggregates)
        object.__setattr__(self, "aggregates", tuple(answers))

    @property
    def is_answers(self) -> bool:
        """They are."""
        return True

    @property
    def calls(self) -> tuple[NamedCall, ...]:
        """The calls that are computed, in the order of `aggregates`: in the place of arithmetic its `parts`."""
        named: list[NamedCall] = []
        for name, answer in self.aggregates:
            if isinstance(answer, Derivation):
                named += [(_part_name(name, call), call) for call in answer.calls]
            else:
                named.append((name, answer))
        return tuple(named)

    @cached_property
    def parts(self) -> Mapping[str, PartOf]:
        """What those of the calls are parts of that nobody asked for by themselves."""
        return {
            _part_name(name, call): PartOf(name, answer, number)
            for name, answer in self.aggregates
            if isinstance(answer, Derivation)
            for number, call in enumerate(answer.calls)
        }

    @cached_property
    def columns(self) -> Mapping[str, str | None]:
        """Where the window begins and ends, the keys, the aggregates."""
        before = self.input.columns
        kind = "bigint" if self.over.is_numbered else "timestamp"
        columns: dict[str, str | None] = dict.fromkeys(window_columns(is_numbered=self.over.is_numbered), kind)
        columns |= {key.name: declared_type(key.expression, before) for key in self.keys}
        return MappingProxyType(columns | {name: _type(answer, before) for name, answer in self.aggregates})

    def columns_needed(self, used: AbstractSet[str]) -> frozenset[str]:
        """The columns of the keys, and of the aggregates that are used."""
        used_calls = (answer.columns for name, answer in self.aggregates if name in used)
        return frozenset().union(*(key.expression.columns for key in self.keys), *used_calls)

    def definition(self, used: AbstractSet[str]) -> tuple[object, ...]:
        """The windows, the keys, and the aggregates that are used, with their names."""
        calls = sorted((name.lower(), answer.canonical) for name, answer in self.aggregates if name in used)
        keys = tuple((key.name.lower(), key.expression.canonical) for key in self.keys)
        return ("aggregate", self._window_defined, keys, tuple(calls))

    @property
    def used_columns(self) -> frozenset[str]:
        """The columns of the input that keys and aggregates use."""
        return frozenset().union(*(expression.columns for expression in self._expressions))

    @cached_property
    def computation(self) -> tuple[object, ...]:
        """What it does, without its input and its names, the same in every process and release."""
        return (
            "aggregate",
            self._window_defined,
            tuple(key.expression.canonical for key in self.keys),
            tuple(answer.canonical for _, answer in self.aggregates),
        )

    @cached_property
    def asked_address(self) -> str:
        """Its address by what it does, whatever its keys and aggregates are called."""
        return f"{self.input.address} > {self.computation}"

    @property
    def _window_defined(self) -> tuple[int | str, ...]:
        lengths = (self.over.size_microseconds, self.over.slide_microseconds, self.over.offset_microseconds)
        return (*lengths, "rows") if self.over.is_by_count else lengths

    @cached_property
    def key(self) -> tuple[object, ...]:
        """What equality compares."""
        return (self.over, self.keys, self.aggregates, self.input)

    @property
    def _expressions(self) -> list[Expression]:
        arguments = [call.argument for _, call in self.calls if call.argument is not None]
        return [*(key.expression for key in self.keys), *arguments]

    def __str__(self) -> str:
        by = f" by {', '.join(key.name for key in self.keys)}" if self.keys else ""
        calls = ", ".join(f"{name} = {answer}" for name, answer in self.aggregates)
        return f"{calls} over {self.over}{by}"


def make_window(node: Node, size: str | int, every: str | int | None, offset: str | int | None) -> WindowSpecification:
    """Return the windows that rows of a node are cut into; see `Rows.window`."""
    problems = Problems(place(node, "window"))
    is_numbered = node.stream.is_numbered
    is_by_count = is_row_count(size)
    length, slide, start = (
        None
        if text is None
        else problems.attempt(partial(parse_window_length, text, is_numbered=is_numbered, is_by_count=is_by_count))
        for text in (size, every, offset)
    )
    problems.raise_if_any()
    length = length or 0
    return problems.require(
        lambda: WindowSpecification(
            length, length if slide is None else slide, start or 0, is_numbered or is_by_count, is_by_count
        )
    )


def make_keys(node: Node, columns: Sequence[str], expressions: Mapping[str, str]) -> tuple[GroupKey, ...]:
    """Return what rows of a node are grouped by; see `Windowed.by`."""
    problems = Problems(place(node, "by"))
    problems.add_all(_key_problem(key) for key in columns if not is_text(key))
    problems.raise_if_any()
    keys = []
    for name, sql in {**{name: quoted(name) for name in columns}, **expressions}.items():
        expression = problems.attempt(partial(parse_expression, sql))
        if expression is not None:
            problems.add_all(column_problems(expression, node.columns))
            keys.append(GroupKey(name, expression))
    problems.raise_if_any()
    return tuple(keys)


def make_aggregate(
    node: Node, window: WindowSpecification, keys: tuple[GroupKey, ...], aggregates: Mapping[str, str | Answered]
) -> Aggregate:
    """Aggregate the rows of a node; see `Windowed.agg`."""
    problems = Problems(place(node, "agg"))
    answers: list[NamedAnswer] = []
    for name, sql in aggregates.items():
        if isinstance(sql, AggregateCall | Derivation):
            answers.append((name, sql))
            continue
        answer = problems.attempt(partial(parse_answer, sql))
        if answer is not None:
            answers.append((name, answer))
    if len(answers) < len(aggregates):
        for _, answer in answers:
            for argument in _arguments(answer):
                problems.add_all(column_problems(argument, node.columns))
    problems.raise_if_any()
    return Aggregate(node, window, keys, tuple(answers))


def _key_problem(key: object) -> str:
    """Phrase what was given instead of the name of a column."""
    names = [name for name in key if isinstance(name, str)] if isinstance(key, list | tuple) else []
    written = ", ".join(f'"{name}"' for name in names) or '"column"'
    return f"a key is a column, or an expression with a name, got {key!r}: write by({written})"


def _name_problems(aggregate: Aggregate) -> Iterator[str]:
    if not aggregate.aggregates:
        yield 'nothing to aggregate, write a name and a call, such as agg(n="count(*)")'
    for kind, part, names in (
        ("key", "by", [key.name for key in aggregate.keys]),
        ("aggregate", "aggregates", [name for name, _ in aggregate.aggregates]),
    ):
        seen: set[str] = set()
        for name in names:
            if kind == "aggregate" and (problem := name_problem(kind, name)) is not None:
                yield problem
            if name.lower() in seen:
                yield Problem(f'the {kind} "{name}" is given twice', element=part)
            seen.add(name.lower())
    keys, calls = [key.name for key in aggregate.keys], [name for name, _ in aggregate.aggregates]
    yield from view_problems(keys, calls, is_numbered=aggregate.over.is_numbered)


def _type_problems(aggregate: Aggregate) -> Iterator[str]:
    columns = aggregate.input.columns
    for key in aggregate.keys:
        if (problem := key_problem(key.name, key.expression, columns)) is not None:
            yield Problem.of(problem, element="by")
    yield from filter(None, (aggregate_problem(name, call, columns) for name, call in aggregate.calls))


def _count_problems(aggregate: Aggregate) -> Iterator[str]:
    below = last_aggregate(aggregate.input)
    if aggregate.over.is_by_count:
        if below is not None:
            yield (
                f'windows of so many rows are of rows of a stream, not of the answers of "{below}": give it windows'
                ' in time, such as "1 minute"'
            )
        for name, call in aggregate.calls:
            if call.kind is AggregateKind.DISTINCT:
                yield (
                    f"{name} = {call} is an estimate, but windows of so many rows are always answered exactly: leave it"
                    " out, or give it windows in time"
                )
    elif isinstance(below, Aggregate) and below.over.is_by_count:
        yield (
            f'the answers of "{below}" cannot be aggregated: windows of so many rows have no place in time'
            " (is the outer aggregate meant to be a query of its own?)"
        )


def _type(answer: Answered, columns: Mapping[str, str | None]) -> str | None:
    return "double" if isinstance(answer, Derivation) else aggregate_type(answer, columns)


def _part_name(name: str, call: AggregateCall) -> str:
    """A name that no answer has."""
    return f"{name}: {call}"


def _calls(answer: Answered) -> tuple[AggregateCall, ...]:
    return answer.calls if isinstance(answer, Derivation) else (answer,)


def _arguments(answer: Answered) -> Iterator[Expression]:
    yield from (call.argument for call in _calls(answer) if call.argument is not None)


def _declared(answer: Answered, columns: Mapping[str, str | None]) -> Answered:
    declared = [
        call if call.argument is None else replace(call, argument=declared_columns(call.argument, columns))
        for call in _calls(answer)
    ]
    return answer.with_calls(declared) if isinstance(answer, Derivation) else declared[0]
