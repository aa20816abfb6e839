"""Joins: streams of the pairs of rows of two others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from streamshed.network.document.document_values import indexed_texts, is_given, text_at
from streamshed.network.document.operators.lookup_forms import KEY, key_pairs
from streamshed.network.document.operators.operator_form import Body, Context, OperatorForm, input_field
from streamshed.network.document.section import Field, Section
from streamshed.network.model.join import default_basic_microseconds, stream_of
from streamshed.network.model.join_problems import (
    basic_window_problems,
    condition_problems,
    joined_columns,
    name_problems,
    sampling_problems,
    side_problems,
    weight_problems,
    window_problems,
)
from streamshed.network.model.join_source import JoinSource, default_prefix
from streamshed.network.model.node import Node
from streamshed.network.model.stream import Stream
from streamshed.network.source.identity import Identity, IdentityKind
from streamshed.network.terms.join_condition import (
    CommonItems,
    EqualColumns,
    JoinCondition,
    PairFunction,
    WeightedItems,
    inner_product,
    overlap,
    pairs_where,
)
from streamshed.network.terms.join_shedding import (
    DEFAULT_JOIN_POLICY_NAME,
    DEFAULT_SAMPLING,
    JOIN_POLICY_NAMES,
    JOIN_SIDES,
    JoinMode,
    JoinShedding,
)
from streamshed.network.words.byte_size import format_byte_size, parse_byte_size
from streamshed.network.words.document_problem import Place, problems_of
from streamshed.network.words.duration import format_duration, parse_duration
from streamshed.network.words.names import name_problem
from streamshed.network.words.schema_forms import (
    Schema,
    choice,
    duration,
    mapping,
    number,
    sql,
    text,
    whole_number,
)

_DEFAULT_TIME = "time"


def _read_equality(place: Place, on: object, context: Context) -> EqualColumns | None:
    pairs, left, right = key_pairs(on), context.node, context.right
    if left is not None and right is not None:
        for keys, pair in pairs.items():
            place.at(*keys).report_all(pair[1], condition_problems(EqualColumns((pair,)), left, right))
    return EqualColumns(tuple(pairs.values())) if pairs else None


def _equality_text(condition: JoinCondition) -> str | list[str] | dict[str, str] | None:
    if not isinstance(condition, EqualColumns):
        return None
    same = [left for left, right in condition.pairs if left == right]
    if len(same) < len(condition.pairs):
        return dict(condition.pairs)
    return same[0] if len(same) == 1 else same


def _sets(
    description: str,
    of: str,
    at_least: Schema,
    make: Callable[..., CommonItems | WeightedItems],
    kind: type[CommonItems | WeightedItems],
) -> Field:
    """A condition over one column of either side."""
    section = Section(
        description,
        {
            "left": Field(text(f"The left column: {of}.", examples=["tags"]), "left_column"),
            "right": Field(
                text("The right column. By default the same name.", examples=["labels"]),
                part=lambda sets: None if sets.left_column == sets.right_column else sets.right_column,
            ),
            "at_least": at_least,
        },
        ("left", "at_least"),
    )

    def read(place: Place, body: Body, context: Context) -> JoinCondition | None:
        columns = (text_at(body, "left"), text_at(body, "right"))
        left, right, at_least = context.node, context.right, body.get("at_least")
        if columns[0] is None or place.at("right").is_unusable:
            return None
        if left is not None and right is not None:
            place.report_all(body, condition_problems(make(*columns, at_least=1), left, right))
        if at_least is None:
            return None
        threshold = int(at_least) if kind is CommonItems else at_least
        return place.at("at_least").attempt(at_least, lambda: make(*columns, at_least=threshold))

    def written(condition: JoinCondition) -> dict[str, Any] | None:
        return section.written(condition) if isinstance(condition, kind) else None

    return Field(section.schema, "condition", reader=read, write=written)


def _read_windows(place: Place, within: object, _: Context) -> tuple[int, int] | None:
    if isinstance(within, str):
        length = place.attempt(within, lambda: parse_duration(within))
        lengths = [] if length is None else [length, length]
    else:
        texts = indexed_texts(within)
        parsed_lengths = [place.at(index).attempt(each, partial(parse_duration, each)) for index, each in texts.items()]
        lengths = [length for length in parsed_lengths if length is not None]
    if len(lengths) != 2:
        return None
    place.report_all(within, window_problems(lengths[0], lengths[1]))
    return lengths[0], lengths[1]


def _windows_text(join: JoinSource) -> str | list[str]:
    lengths = [format_duration(join.left_microseconds), format_duration(join.right_microseconds)]
    return lengths[0] if lengths[0] == lengths[1] else lengths


def _read_basic_window(place: Place, written: str, _: Context) -> int | None:
    length = place.attempt(written, lambda: parse_duration(written))
    place.report_all(written, () if length is None else basic_window_problems(length))
    return length


def _prefixes_text(join: JoinSource) -> list[str] | None:
    defaults = (default_prefix(join.left), default_prefix(join.right))
    return None if join.prefixes == defaults else [*join.prefixes]


_SIDES = Section(
    "What is joined.",
    {
        "join": input_field(text("The right side: a stream or operator.", examples=["alerts"]), "right"),
        "from": input_field(text("The left side: a stream or operator.", examples=["flows"]), "left"),
    },
)
_CONDITIONS = Section(
    "When two rows join: one of these.",
    {
        "on": Field(
            KEY
            | {
                "description": "Equal columns: `{left column: right column}`; for equal names, a column or list. Null"
                " equals nothing.",
                "examples": ["host", {"src": "host"}],
            },
            "condition",
            reader=_read_equality,
            write=_equality_text,
        ),
        "overlap": _sets(
            "Two lists share items.",
            "lists",
            whole_number("The fewest different items in common.", minimum=1),
            overlap,
            CommonItems,
        ),
        "inner_product": _sets(
            "Σ weight·weight over shared items.",
            "maps from items to weights",
            number("The sum that pairs must reach.", exclusiveMinimum=0),
            inner_product,
            WeightedItems,
        ),
        "pairs_where": Field(
            text(
                "`module:function`: takes two `pyarrow.Table`s of equal length, returns whether each pair of rows"
                " matches.",
                examples=["matching:alike"],
            ),
            "condition",
            read=pairs_where,
            write=lambda condition: condition.function.name if isinstance(condition, PairFunction) else None,
        ),
    },
)
_PAIRS = Section(
    "How close in time they are, and what a pair is.",
    {
        "within": Field(
            {
                "type": ["string", "array"],
                "items": {"type": "string", "minLength": 1},
                "minItems": 2,
                "maxItems": 2,
                "minLength": 1,
                "title": "duration, or list of two",
                "description": "How long left rows wait for right rows, and right rows for left. One duration is both.",
                "examples": ["30 seconds", ["30 seconds", "5 seconds"]],
            },
            "windows",
            reader=_read_windows,
            part=_windows_text,
        ),
        "basic_window": Field(
            duration(
                "Length of the pieces of windows that are compared or shed. By default a twentieth of the longer"
                " window; while the join is shed, perhaps 2, 4, 8, ... times that.",
                "1 second",
            ),
            "basic_microseconds",
            reader=_read_basic_window,
            part=lambda join: None if join.chooses_basic else format_duration(join.basic_microseconds),
        ),
        "prefixes": Field(
            {
                "type": "array",
                "items": {"type": "string", "minLength": 1},
                "minItems": 2,
                "maxItems": 2,
                "title": "list of two texts",
                "description": "Prefixes of the columns of both sides. Required for a join with itself. By default the "
                "names of the streams and `_`.",
                "examples": [["left_", "right_"]],
            },
            read=lambda items: tuple(items) if len(indexed_texts(items)) == 2 else None,
            part=_prefixes_text,
        ),
        "time": text("Name of the column with a pair's time, the later of the two.", default=_DEFAULT_TIME),
    },
)
_SHEDDING = Section(
    "How a join is shed under overload.",
    {
        "mode": choice(
            "Under overload: `subset` finds some of the pairs; `exact` finds all and is never shed; `sample` draws rows"
            " of one side at random, for estimates with bounds.",
            list(JoinMode),
            default=str(JoinMode.SUBSET),
        ),
        "policy": choice(
            "Mode `subset`: how comparisons are chosen.",
            list(JOIN_POLICY_NAMES),
            default=DEFAULT_JOIN_POLICY_NAME,
        ),
        "weight": Field(
            sql(
                "Mode `subset`: what a pair is worth, from its columns. By default all the same.",
                "alerts_severity",
            ),
            reader=lambda place, written, context: context.sql.expression(place, written),
            write=str,
        ),
        "memory": Field(
            text(
                "Mode `subset`: the most memory for both windows. Beyond it, rows that promise the fewest pairs are"
                " dropped. By default no limit.",
                title="size",
                examples=["512 MB"],
            ),
            "memory_bytes",
            parse_byte_size,
            format_byte_size,
        ),
        "sampling": number(
            "Mode `subset`: γ, the share of comparisons under overload that serves to learn where pairs are.",
            exclusiveMinimum=0,
            maximum=1,
            default=DEFAULT_SAMPLING,
        ),
        "sampled_side": choice(
            "Mode `sample`: the side whose rows are drawn. Choose the side whose rows have few partners each.",
            list(JOIN_SIDES),
            default=JOIN_SIDES[0],
        ),
    },
)


def _read_joined(place: Place, body: Body, context: Context) -> Stream | None:
    before, left, right = place.findings.count, context.node, context.right
    place.report_parts(body, side_problems(left, right))
    condition = _read_condition(place, body, context)
    values = _PAIRS.values(place, body, context=context)
    shedding = _read_shedding(place, body, context)
    if left is None or right is None or any(place.at(key).is_unusable for key in ("prefixes", "time")):
        return None
    prefixes = values.setdefault("prefixes", (default_prefix(left), default_prefix(right)))
    time = values.setdefault("time", _DEFAULT_TIME)
    if problems := [*name_problems(left, right, prefixes, time)]:
        place.report_parts(body, problems)
        return None
    windows: tuple[int, int] | None = values.get("windows")
    if condition is None or windows is None:
        shedding = None
    weight, mode = (None, None) if shedding is None else (shedding.weight, shedding.mode)
    place.report_parts(body, sampling_problems(left, right, is_sampled=mode is JoinMode.SAMPLE))
    place.report_parts(body, weight_problems(weight, left, right, prefixes, time))
    is_sound = place.findings.count == before and not name_problem("stream", context.name)
    if condition is None or windows is None or shedding is None or not is_sound:
        return _stand_in(context.name, left, right, prefixes, time)
    basic = values.get("basic_microseconds")
    source = JoinSource(
        left,
        right,
        condition,
        *windows,
        default_basic_microseconds(windows) if basic is None else basic,
        time,
        prefixes,
        shedding,
        chooses_basic=basic is None,
    )
    return stream_of(context.name, source)


def _read_condition(place: Place, body: Body, context: Context) -> JoinCondition | None:
    given = [key for key in _CONDITIONS.fields if is_given(place, body, key)]
    if len(given) == 1:
        condition: JoinCondition | None = _CONDITIONS.values(place, body, context=context).get("condition")
        return condition
    if not place.is_unusable:
        several, none = "expected only one of", "one of these keys is missing:"
        place.report(list(body), f"{several if given else none} {', '.join(given or _CONDITIONS.fields)}")
    return None


def _read_shedding(place: Place, body: Body, context: Context) -> JoinShedding | None:
    shedding = partial(JoinShedding, **_SHEDDING.values(place, body, context=context))
    problems = problems_of(shedding)
    place.report_parts(body, problems)
    return None if problems else shedding()


def _stand_in(name: str, left: Node, right: Node, prefixes: tuple[str, str], time: str) -> Stream:
    """A stream with the columns that those of a join with problems would be."""
    known_as = "stream" if name_problem("stream", name) else name
    schema = joined_columns(left, right, prefixes, time)
    source = left.stream.source
    return Stream(known_as, source, schema, time, 0, None, Identity(IdentityKind.NONE), clock=left.stream.clock)


def _written(node: Node) -> dict[str, Any] | None:
    if not isinstance(node, Stream) or node.joined is None:
        return None
    join = node.joined
    return _SIDES.said(join) | _CONDITIONS.said(join) | _PAIRS.said(join) | _SHEDDING.said(join.shedding)


JOIN = OperatorForm(
    mapping(
        "Pairs rows of two streams that are close in time and meet one condition: `on`, `overlap`, `inner_product` or "
        "`pairs_where`. The pairs are a stream with the operator's name and columns such as `flows_src_host`. Both "
        "sides have event time and the same clock; neither is a join.",
        _SIDES.properties | _CONDITIONS.properties | _PAIRS.properties | _SHEDDING.properties,
        "join",
        "from",
        "within",
    ),
    _read_joined,
    _written,
)


def unwritable_join(name: str, join: JoinSource) -> Iterator[str]:
    """Tell what no document can say of a join.

    Args:
        name: The name of the joined stream.
        join: What it joins.
    """
    match join.condition:
        case PairFunction(function) if function.state_digest:
            at_the_top = "define it at the top of a module"
            yield f'stream "{name}": the function "{function.name}" cannot be imported: {at_the_top}'
        case EqualColumns(pairs) if len(dict(pairs)) < len(pairs):
            yield f'stream "{name}" compares one column of its left side with several: filter by the others'
