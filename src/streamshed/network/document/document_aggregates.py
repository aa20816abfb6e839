"""Reading the windows, keys and aggregates of a document, of queries and of operators."""

from collections.abc import Mapping
from functools import partial

from streamshed.errors import Problem
from streamshed.network.document.document_sql import SqlReader
from streamshed.network.document.document_values import is_given, length_at, mapping_at, text_at, texts_at
from streamshed.network.model.grouping import Aggregate, GroupKey, NamedAnswer
from streamshed.network.model.node import Node
from streamshed.network.sql.expression import parse_expression, quoted
from streamshed.network.terms.aggregate import AggregateCall, AggregateKind, user_aggregate
from streamshed.network.terms.problems import unknown_column
from streamshed.network.terms.window import WindowSpecification
from streamshed.network.words.columns import declared_name
from streamshed.network.words.document_problem import Place, problems_of
from streamshed.network.words.numbering import is_row_count

_COUNT = AggregateCall(AggregateKind.COUNT, None)


def read_aggregate(place: Place, body: Mapping[str, object], rows: Node | None, sql: SqlReader) -> Aggregate | None:
    """Read `window`, `by` and `aggregates`.

    Args:
        place: Where they stand, and where their problems go.
        body: What the document says there, as far as its shape is right.
        rows: What is aggregated; None: not known, so that columns are not checked.
        sql: Parses SQL.

    Returns:
        The aggregate; None where it has problems, or nothing is aggregated.
    """
    window = _read_window(
        place.at("window"), mapping_at(body, "window"), is_numbered=None if rows is None else rows.stream.is_numbered
    )
    keys = _read_keys(place.at("by"), body, rows, sql)
    answers = _read_answers(place.at("aggregates"), mapping_at(body, "aggregates"), rows, sql)
    if rows is None or window is None or keys is None or not answers:
        return None
    if problems := problems_of(lambda: Aggregate(rows, window, keys, answers)):
        for problem in problems:
            part = "by" if problem.element == "by" else "aggregates"
            place.at(part).report_all([*mapping_at(body, part)] or body.get(part), [problem])
        return None
    return Aggregate(rows, window, keys, answers)


def _read_window(place: Place, body: Mapping[str, object], *, is_numbered: bool | None) -> WindowSpecification | None:
    is_by_count = is_row_count(body.get("size"))
    size, slide, offset = (
        length_at(place, body, key, is_numbered=is_numbered, is_by_count=is_by_count)
        for key in ("size", "slide", "offset")
    )
    sound = not any(is_given(place, body, key) and body.get(key) is None for key in ("slide", "offset"))
    if size is None:
        return None
    has_numbers = bool(is_numbered) or is_by_count
    tumbling = place.at("size").attempt(
        body["size"], lambda: WindowSpecification(size, size, 0, has_numbers, is_by_count)
    )
    if tumbling is None:
        return None
    if not sound or (slide is None and "slide" in body) or (offset is None and "offset" in body):
        return None
    return place.at("slide").attempt(
        body.get("slide"),
        lambda: WindowSpecification(size, size if slide is None else slide, offset or 0, has_numbers, is_by_count),
    )


def _read_keys(
    place: Place, body: Mapping[str, object], node: Node | None, sql: SqlReader
) -> tuple[GroupKey, ...] | None:
    items = body.get("by", [])
    if place.is_unusable or not isinstance(items, list):
        return None
    keys = []
    for index, item in enumerate(items):
        if isinstance(item, str):
            keys.append(_column_key(place.at(index), item, node))
        elif isinstance(item, dict):
            keys += [_sql_key(place.at(index, name), name, text, node, sql) for name, text in item.items()]
        else:
            keys.append(None)
    usable_keys = tuple(key for key in keys if key is not None)
    return usable_keys if len(usable_keys) == len(keys) else None


def _column_key(place: Place, name: str, node: Node | None) -> GroupKey | None:
    if node is not None and declared_name(name, node.columns) is None:
        place.report_all(name, [unknown_column(name, node.columns)])
        return None
    return _key(place, name, GroupKey(name, parse_expression(quoted(name))), node)


def _sql_key(place: Place, name: str, text: object, node: Node | None, sql: SqlReader) -> GroupKey | None:
    expression = sql.expression(place, text) if isinstance(text, str) else None
    if expression is None:
        return None
    return _key(place, text, GroupKey(name, expression), node)


def _key(place: Place, written: object, key: GroupKey, node: Node | None) -> GroupKey | None:
    """Report what the model says of a key by itself."""
    call = ("b" if key.name.lower().startswith("a") else "a", _COUNT)
    problems = () if node is None else problems_of(lambda: Aggregate(node, _some_window(node), (key,), (call,)))
    place.report_all(written, problems)
    return None if problems else key


def _read_answers(
    place: Place, body: Mapping[str, object], node: Node | None, sql: SqlReader
) -> tuple[NamedAnswer, ...] | None:
    answers: list[NamedAnswer] = []
    sound = True
    for name, text in body.items():
        here = place.at(name)
        answer = sql.answer(here, text) if isinstance(text, str) else _user_call(here, text)
        problems: tuple[Problem, ...] = ()
        if answer is not None and node is not None:
            problems = problems_of(partial(Aggregate, node, _some_window(node), (), ((name, answer),)))
            here.report_all(text, problems)
        if answer is None or problems:
            sound = False
        else:
            answers.append((name, answer))
    return tuple(answers) if sound else None


def _user_call(place: Place, body: object) -> AggregateCall | None:
    """Read an aggregate of the user's own."""
    if not isinstance(body, dict) or place.is_unusable:
        return None
    function, columns, returns = text_at(body, "user"), texts_at(body, "columns"), text_at(body, "returns")
    if function is None or returns is None or not columns:
        return None
    where = text_at(body, "where")
    if "where" in body and where is None:
        return None
    names = list(columns.values())
    return place.attempt(function, lambda: user_aggregate(function, columns=names, returns=returns, where=where))


def _some_window(node: Node) -> WindowSpecification:
    """A window to check with what does not depend on it."""
    return WindowSpecification(1, 1, 0, node.stream.is_numbered)
