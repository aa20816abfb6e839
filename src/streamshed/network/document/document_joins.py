"""Reading the joins of a document: streams of the pairs of rows of two others."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from streamshed.network.document.document_lookups import key_pairs
from streamshed.network.document.document_sql import SqlReader
from streamshed.network.document.document_values import (
    duration_at,
    is_given,
    mapping_at,
    text_at,
    texts_at,
)
from streamshed.network.document.schema_operators import SHEDDING
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
from streamshed.network.terms.join_condition import EqualColumns, JoinCondition, inner_product, overlap, pairs_where
from streamshed.network.terms.join_shedding import (
    JoinMode,
    JoinShedding,
)
from streamshed.network.words.document_problem import Place, problems_of
from streamshed.network.words.duration import parse_duration
from streamshed.network.words.names import name_problem

CONDITIONS = ("on", "overlap", "inner_product", "pairs_where")
"""The keys of a join that say when two rows join."""

_DEFAULT_TIME = "time"


def read_joined(
    place: Place, name: str, body: Mapping[str, object], left: Node | None, right: Node | None, sql: SqlReader
) -> Stream | None:
    """Read a join.

    Args:
        place: Where it stands, and where its problems go.
        name: Its name, which is that of the stream of its results.
        body: What the document says of it, as far as its shape is right.
        left: Where the rows of its left side come from; None: not known, so that columns are not checked.
        right: Those of its right side.
        sql: Parses SQL.

    Returns:
        The stream of its results; where it has problems, one with the columns it would have, so that what is below can
        be checked; None where not even those are known.
    """
    before = place.findings.count
    place.report_parts(body, side_problems(left, right))
    parts = _read_parts(place, body, left, right, sql)
    if left is None or right is None:
        return None
    prefixes, time = _read_prefixes(place, body, left, right), text_at(body, "time") or _DEFAULT_TIME
    if prefixes is None or place.at("time").is_unusable:
        return None
    if problems := [*name_problems(left, right, prefixes, time)]:
        place.report_parts(body, problems)
        return None
    weight = None if parts is None else parts.shedding.weight
    is_sampled = parts is not None and parts.shedding.mode is JoinMode.SAMPLE
    place.report_parts(body, sampling_problems(left, right, is_sampled=is_sampled))
    place.report_parts(body, weight_problems(weight, left, right, prefixes, time))
    if place.findings.count > before or parts is None or name_problem("stream", name):
        return _stand_in(name, left, right, prefixes, time)
    source = JoinSource(
        left,
        right,
        parts.condition,
        *parts.windows,
        parts.basic_microseconds,
        time,
        prefixes,
        parts.shedding,
        chooses_basic=parts.chooses_basic,
    )
    return stream_of(name, source)


@dataclass(frozen=True, slots=True)
class _Parts:
    """What is said of a join but its sides and names."""

    condition: JoinCondition
    windows: tuple[int, int]
    basic_microseconds: int
    shedding: JoinShedding
    chooses_basic: bool


def _read_parts(
    place: Place, body: Mapping[str, object], left: Node | None, right: Node | None, sql: SqlReader
) -> _Parts | None:
    condition = _read_condition(place, body, left, right)
    windows = _read_windows(place, body)
    basic = duration_at(place, body, "basic_window")
    place.report_parts(body, () if basic is None else basic_window_problems(basic))
    shedding = _read_shedding(place, body, sql)
    if condition is None or windows is None or shedding is None:
        return None
    size = default_basic_microseconds(windows) if basic is None else basic
    return _Parts(condition, windows, size, shedding, chooses_basic=basic is None)


def _read_condition(
    place: Place, body: Mapping[str, object], left: Node | None, right: Node | None
) -> JoinCondition | None:
    given = [key for key in CONDITIONS if is_given(place, body, key)]
    if len(given) != 1:
        if not place.is_unusable:
            several, none = "expected only one of", "one of these keys is missing:"
            place.report(list(body), f"{several if given else none} {', '.join(given or CONDITIONS)}")
        return None
    if given == ["on"]:
        return _read_equality(place.at("on"), body.get("on"), left, right)
    here, value = place.at(given[0]), body.get(given[0])
    if given == ["pairs_where"]:
        return here.attempt(value, lambda: pairs_where(value)) if isinstance(value, str) else None
    return _read_sets(here, given[0], mapping_at(body, given[0]), left, right)


def _read_sets(
    place: Place, kind: str, body: Mapping[str, object], left: Node | None, right: Node | None
) -> JoinCondition | None:
    mine, theirs, at_least = text_at(body, "left"), text_at(body, "right"), body.get("at_least")
    if mine is None or place.at("right").is_unusable:
        return None
    if left is not None and right is not None:
        some = overlap(mine, theirs, at_least=1) if kind == "overlap" else inner_product(mine, theirs, at_least=1)
        place.report_all(body, condition_problems(some, left, right))
    if not isinstance(at_least, int | float):
        return None
    here = place.at("at_least")
    if kind == "overlap":
        return here.attempt(at_least, lambda: overlap(mine, theirs, at_least=int(at_least)))
    return here.attempt(at_least, lambda: inner_product(mine, theirs, at_least=at_least))


def _read_equality(place: Place, on: object, left: Node | None, right: Node | None) -> JoinCondition | None:
    pairs = key_pairs(on)
    if left is not None and right is not None:
        for keys, pair in pairs.items():
            problems = condition_problems(EqualColumns((pair,)), left, right)
            place.at(*keys).report_all(pair[1], problems)
    return EqualColumns(tuple(pairs.values())) if pairs else None


def _read_windows(place: Place, body: Mapping[str, object]) -> tuple[int, int] | None:
    if text_at(body, "within") is not None:
        length = duration_at(place, body, "within")
        lengths = [] if length is None else [length, length]
    else:
        here, texts = place.at("within"), texts_at(body, "within")
        parsed_lengths = [here.at(index).attempt(text, partial(parse_duration, text)) for index, text in texts.items()]
        lengths = [length for length in parsed_lengths if length is not None]
    if len(lengths) != 2:
        return None
    place.report_parts(body, window_problems(lengths[0], lengths[1]))
    return lengths[0], lengths[1]


def _read_shedding(place: Place, body: Mapping[str, object], sql: SqlReader) -> JoinShedding | None:
    written = text_at(body, "weight")
    weight = None if written is None else sql.expression(place.at("weight"), written)
    settings = partial(JoinShedding, **SHEDDING.values(place, body) | {"weight": weight})
    problems = problems_of(settings)
    place.report_parts(body, problems)
    return None if problems else settings()


def _read_prefixes(place: Place, body: Mapping[str, object], left: Node, right: Node) -> tuple[str, str] | None:
    if not is_given(place, body, "prefixes"):
        return default_prefix(left), default_prefix(right)
    given = [*texts_at(body, "prefixes").values()]
    return (given[0], given[1]) if len(given) == 2 else None


def _stand_in(name: str, left: Node, right: Node, prefixes: tuple[str, str], time: str) -> Stream:
    """A stream with the columns that those of a join with problems would be."""
    known_as = "stream" if name_problem("stream", name) else name
    schema = joined_columns(left, right, prefixes, time)
    source = left.stream.source
    return Stream(known_as, source, schema, time, 0, None, Identity(IdentityKind.NONE), clock=left.stream.clock)
