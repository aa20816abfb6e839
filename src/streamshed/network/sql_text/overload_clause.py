"""What a query says of overload: ON OVERLOAD SAMPLE, DROP WINDOWS or KEEP EXACT."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streamshed.errors import closest_name
from streamshed.network.sql.sql_syntax import TokenKind
from streamshed.network.sql_text.sql_cursor import SqlCursor
from streamshed.network.sql_text.sql_tokens import SqlRefusal, is_name
from streamshed.network.sql_text.statement_values import take_length, take_value
from streamshed.network.sql_text.written_values import literal
from streamshed.network.terms.goal import error_goal

_WORDS = ("SAMPLE", "DROP", "KEEP", "WITHIN", "PRIORITY", "WEIGHT", "LATENCY", "BY")


def read_overload(cursor: SqlCursor) -> dict[str, object]:
    """Read what follows ON OVERLOAD, as a document's query has it.

    Raises:
        SqlRefusal: It is none of the words of the clause.

    Example:
        >>> from streamshed.network.sql_text.sql_tokens import tokens_of
        >>> read_overload(SqlCursor(tokens_of("SAMPLE WITHIN 2 PERCENT AT 99 PERCENT WEIGHT 3")))
        {'mode': 'approximate', 'max_error': '2 % at 99 %', 'weight': 3}
        >>> read_overload(SqlCursor(tokens_of("DROP WINDOWS AT MOST 5 IN A ROW BY GROUP PRIORITY 2")))
        {'mode': 'subset', 'max_gap': 5, 'gaps_by': 'group', 'priority': 2}
        >>> read_overload(SqlCursor(tokens_of("KEEP EXACT LATENCY '5 seconds'")))
        {'mode': 'exact', 'latency': '5 seconds'}
    """
    said: dict[str, object] = {}
    while cursor.peek() is not None:
        tokens = cursor.rest[:1]
        part = _part(cursor)
        if repeated := said.keys() & part.keys():
            raise SqlRefusal(tokens, f"ON OVERLOAD says twice what its {', '.join(sorted(repeated))} is")
        said |= part
    if not said:
        raise SqlRefusal(cursor.rest, "ON OVERLOAD is followed by SAMPLE, DROP WINDOWS or KEEP EXACT")
    return said


def _part(cursor: SqlCursor) -> dict[str, object]:
    if cursor.take("sample"):
        return {"mode": "approximate", **(_within(cursor) if cursor.take("within") else {})}
    if cursor.take("drop"):
        cursor.expect("windows")
        return {"mode": "subset", **_gap(cursor)}
    if cursor.take("keep"):
        cursor.expect("exact")
        return {"mode": "exact"}
    for word in ("priority", "weight", "latency"):
        if cursor.take(word):
            return {word: take_length(cursor) if word == "latency" else take_value(cursor)}
    token = cursor.advance()
    near_miss = closest_name(token.text, _WORDS) if is_name(token) else None
    words = "SAMPLE, DROP WINDOWS, KEEP EXACT, PRIORITY, WEIGHT and LATENCY"
    raise SqlRefusal([token], f"ON OVERLOAD knows {words}", near_miss)


def _within(cursor: SqlCursor) -> dict[str, object]:
    error = _percent(cursor)
    return {"max_error": f"{error} at {_percent(cursor)}" if cursor.take("at") else error}


def _percent(cursor: SqlCursor) -> str:
    token = cursor.peek()
    if token is None or token.kind is not TokenKind.NUMBER:
        raise SqlRefusal(cursor.rest[:1], "a share is expected here, such as 2 PERCENT")
    cursor.advance()
    if not cursor.take_symbol("%"):
        cursor.expect("percent")
    return f"{token.text} %"


def _gap(cursor: SqlCursor) -> dict[str, object]:
    said: dict[str, object] = {}
    if cursor.take("at"):
        cursor.expect("most")
        said["max_gap"] = take_length(cursor)
        cursor.expect("in", "a", "row")
    if cursor.take("by"):
        cursor.expect("group")
        said["gaps_by"] = "group"
    return said


def written_overload(query: Mapping[str, Any]) -> str:
    """Write the clause for what a document says of a query; empty where it says nothing.

    Example:
        >>> written_overload({"mode": "subset", "max_gap": 5, "weight": 2.0})
        'ON OVERLOAD DROP WINDOWS AT MOST 5 IN A ROW WEIGHT 2'
        >>> written_overload({"from": "packets"})
        ''
    """
    mode, words = query.get("mode", "approximate"), []
    if mode == "exact":
        words.append("KEEP EXACT")
    elif mode == "subset":
        gap = query.get("max_gap")
        words.append("DROP WINDOWS" + ("" if gap is None else f" AT MOST {literal(gap)} IN A ROW"))
        words += ["BY GROUP"] if query.get("gaps_by") == "group" else []
    elif "max_error" in query:
        goal = str(error_goal(query["max_error"]))
        words.append(f"SAMPLE WITHIN {goal.replace('%', 'PERCENT').replace('at', 'AT')}")
    words += [f"{key.upper()} {_number(query[key])}" for key in ("priority", "weight") if key in query]
    words += [f"LATENCY {literal(query['latency'])}"] if "latency" in query else []
    return f"ON OVERLOAD {' '.join(words)}" if words else ""


def _number(number: float) -> str:
    return str(int(number)) if number == int(number) else repr(number)
