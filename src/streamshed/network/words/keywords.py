"""Other words for our keywords and keys: what Spark, Flink or SQL call the same thing, and what to write here."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Mapping
from typing import ParamSpec, TypeVar

from streamshed.errors import closest_name

_P = ParamSpec("_P")
_R = TypeVar("_R")

_TIME = ("time", "timestamp", "event_time", "eventTime", "time_column", "timeColumn", "ts", "rowtime")
_WATERMARK = ("watermark", "delay", "lateness", "allowed_lateness", "delay_threshold", "delayThreshold", "out_of_order")
_WHERE = ("where", "filter", "predicate", "condition")
_BY = ("by", "group_by", "groupBy", "groupby", "keys", "key")
_SAME: tuple[tuple[str, ...], ...] = (
    _TIME,
    _WATERMARK,
    _WHERE,
    _BY,
    ("every", "slide", "hop", "step", "period", "slide_duration", "slideDuration"),
    ("size", "length", "duration", "width", "window_duration", "windowDuration"),
    ("offset", "start_time", "startTime", "start", "origin"),
    ("aggregates", "agg", "aggregate", "aggregations"),
    ("folder", "path", "directory"),
    ("within", "interval", "tolerance"),
    ("on", "keys", "key", "left_on", "using"),
)
"""Words that mean the same; which of them is ours depends on where they stand."""

_EXAMPLES: Mapping[str, str] = {
    "every": '"10 seconds"',
    "size": '"1 minute"',
    "offset": '"6 hours"',
    "time": '"ts"',
    "watermark": '"5 seconds"',
    "within": '"30 seconds"',
    "on": '"host"',
}
_LOCAL_TIME = (
    "windows lie in UTC: for days that follow a time zone, summer time too, let event time be the local time,"
    " time=\"from_utc_timestamp(ts, 'Europe/Berlin')\" of the stream"
)
_ELSEWHERE: Mapping[str, str] = {
    **dict.fromkeys(("zone", "timezone", "time_zone", "timeZone", "tz"), _LOCAL_TIME),
    **dict.fromkeys(_WATERMARK, 'declare the watermark with the stream: `stream(..., watermark="5 seconds")`'),
    **dict.fromkeys(_TIME, 'declare event time with the stream: `stream(..., time="ts")`'),
    **dict.fromkeys(_WHERE, 'filter before it: `filter("size > 3")`'),
    **dict.fromkeys(_BY, 'group the windows: `window("1 minute").by("host")`'),
    **dict.fromkeys(("how", "join_type", "joinType"), "there are no outer joins: `join` gives the pairs"),
    "schema": 'columns of files are declared with the folder: `folder(path, "json", schema="ts timestamp, v int")`',
}
"""What belongs somewhere else, or is not there."""


def our_word(word: str, known_words: Collection[str]) -> str | None:
    """Return which known word another one stands for: a synonym, or a misspelling of it; None: none of them.

    Example:
        >>> our_word("slide", ["size", "every"]), our_word("every", ["size", "slide"]), our_word("ofset", ["offset"])
        ('every', 'slide', 'offset')
        >>> our_word("colour", ["size", "every"]) is None
        True
    """
    same = next((ours for group in _SAME if word in group for ours in group if ours in known_words), None)
    return same or closest_name(word, known_words)


def advice_on(word: str, known_words: Collection[str]) -> str | None:
    """Return what to write in the place of an unknown word; None: there is no advice.

    Example:
        >>> advice_on("slide", ["size", "every"])
        'write every="10 seconds"'
        >>> advice_on("watermark", ["size", "every"])
        'declare the watermark with the stream: `stream(..., watermark="5 seconds")`'
    """
    ours = our_word(word, known_words)
    if ours is None:
        return _ELSEWHERE.get(word)
    return f"write {ours}={_EXAMPLES[ours]}" if ours in _EXAMPLES else f'did you mean "{ours}"?'


def with_advice(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Let the error of a call with an unknown keyword say what to write.

    Example:
        >>> @with_advice
        ... def window(size: str, every: str | None = None) -> str: return f"{size} {every}"
        >>> window("1 minute", every="10 seconds")
        '1 minute 10 seconds'
        >>> window("1 minute", slide="10 seconds")
        Traceback (most recent call last):
        TypeError: window() has no keyword "slide": write every="10 seconds"
    """
    parameters = tuple(inspect.signature(function).parameters)

    @functools.wraps(function)
    def call(*arguments: _P.args, **keywords: _P.kwargs) -> _R:
        for word in keywords:
            if word not in parameters:
                advice = advice_on(word, [name for name in parameters if name not in keywords])
                raise TypeError(
                    f'{function.__name__}() has no keyword "{word}"{"" if advice is None else f": {advice}"}'
                )
        return function(*arguments, **keywords)

    return call
