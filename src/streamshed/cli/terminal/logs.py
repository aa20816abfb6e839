"""Logs on standard error, in the place of a view."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum

from streamshed.dashboard.json_lines import JsonLines


class LogForm(StrEnum):
    """How records of `logging` are written."""

    TEXT = "text"
    """A line that people read."""

    JSON = "json"
    """A line of JSON that programs read."""


@contextmanager
def logging_to_standard_error(form: LogForm | None) -> Iterator[None]:
    """Write what streamshed logs, from level INFO on, meanwhile.

    Args:
        form: How; None: the process logs as it does without.
    """
    if form is None:
        yield
        return
    handler = logging.StreamHandler(sys.stderr)
    text = logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s")
    handler.setFormatter(JsonLines() if form is LogForm.JSON else text)
    logger = logging.getLogger("streamshed")
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
