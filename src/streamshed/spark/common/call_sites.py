"""Columns built without PySpark's notes of which line of Python built each.

Rests on Spark's internals: tests/spark/contracts/test_call_sites.py.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.errors import utils

_REMEMBERED = "_enable_debugging_cache"
"""Whether PySpark notes it, or None as long as it has not looked; there is no other way in a running process."""

_lock = threading.Lock()
_before: list[bool | None] = []
"""What was in force before; one entry for each that is without call sites by now."""


@contextmanager
def without_call_sites() -> Iterator[None]:
    """Build columns without noting for each which line of Python did; as a decorator, too.

    PySpark notes it for its error messages. To do so it asks Java for the active session and for two settings, whenever
    two columns are compared, added, cast or named: a network is thousands of columns, and its lines are ours, which
    tell its users nothing. Its setting, `spark.python.sql.dataFrameDebugging.enabled`, is read once in a process, by
    whoever is first to build a column; so what PySpark remembers of it is changed, and put back.
    """
    with _lock:
        _before.append(getattr(utils, _REMEMBERED))
        setattr(utils, _REMEMBERED, False)
    try:
        yield
    finally:
        with _lock:
            # Several may begin and end in any order: the first found what is to be in force after the last.
            if len(_before) > 1:
                _before.pop()
            else:
                setattr(utils, _REMEMBERED, _before.pop())
