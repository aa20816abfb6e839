"""The journal on disk: one row per finished micro-batch, in segments of bounded size and number."""

from __future__ import annotations

import json
import logging
import re
import threading
from collections.abc import Mapping
from typing import Any

import pandas as pd

from streamshed.spark.checkpoint.storage import Storage

_log = logging.getLogger(__name__)

_NAME = re.compile(r"\d{8}\.jsonl")
_SEGMENT_ROWS = 200
_SEGMENT_CHARACTERS = 1_000_000
"""A segment is written anew with each row, so that rows of a thousand queries make shorter ones."""

_SEGMENTS = 50


class History:
    """Rows of the journal, kept beside the checkpoint.

    Args:
        folder: Where.
    """

    def __init__(self, folder: Storage) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        folder.discard_drafts()
        names = self._names()
        self._index = int(names[-1].split(".")[0]) if names else 0
        self._lines = self._read(names[-1]) if names else []

    def append(self, row: Mapping[str, Any]) -> None:
        """Add a row; durable when this returns."""
        with self._lock:
            if len(self._lines) >= _SEGMENT_ROWS or sum(map(len, self._lines)) >= _SEGMENT_CHARACTERS:
                self._index += 1
                self._lines = []
                self._forget()
            self._lines.append(json.dumps(dict(row)))
            self._folder.write_text(_file(self._index), "\n".join(self._lines))

    def latest(self, count: int) -> list[dict[str, Any]]:
        """Return the latest rows, oldest first: no more than so many, and at least one if there is any."""
        with self._lock:
            return [json.loads(line) for line in self._lines[-count:]]

    def table(self) -> pd.DataFrame:
        """Return all rows that are kept, oldest first."""
        with self._lock:
            names = [name for name in self._names() if name != _file(self._index)]
            lines = [*(line for name in names for line in self._read(name)), *self._lines]
        return pd.DataFrame([json.loads(line) for line in lines])

    def _read(self, name: str) -> list[str]:
        """Its rows; those that cannot be read are lost, which changes nothing but the journal."""
        lines = self._folder.read_lines(name)
        rows = [line for line in lines if _is_row(line)]
        if len(rows) < len(lines):
            _log.warning(
                'the journal has lost %d rows: "%s/%s" is damaged', len(lines) - len(rows), self._folder.root, name
            )
        return rows

    def _names(self) -> list[str]:
        return [name for name in self._folder.names() if _NAME.fullmatch(name)]

    def _forget(self) -> None:
        names = self._names()
        for name in names[: max(len(names) - _SEGMENTS, 0)]:
            self._folder.delete(name)


def _is_row(line: str) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False


def _file(index: int) -> str:
    return f"{index:08d}.jsonl"
