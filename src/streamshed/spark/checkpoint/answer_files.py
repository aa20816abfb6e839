"""The leading answers of the latest micro-batches, in files beside the journal: there whatever the sink is."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from streamshed.network.run.settings import Settings
from streamshed.spark.checkpoint.storage import Storage

_NAME = re.compile(r"\d{12}\.json")
_TIMES = ("window_start", "window_end")

ANSWERS_FOLDER = "answers"
"""The folder of a time domain that they are in."""

KEPT_FILES = 200
"""So many micro-batches with answers are kept."""
MOST_ANSWERS = 5_000
"""So many answers of a micro-batch are kept: those of the latest windows."""


class AnswerFiles:
    """A folder with a file for each of the latest micro-batches that answered anything.

    Args:
        folder: Theirs alone.
        confidence: Of the bounds of what is written, as the run was told. Answers do not say it: bounds of distinct
            counts hold with less, those that follow from several answers with more or less.
    """

    def __init__(self, folder: Storage, *, confidence: float = Settings.confidence) -> None:
        self._folder, self._confidence = folder, confidence

    def write(self, micro_batch_id: int, queries: Mapping[str, Mapping[str, Any]], answers: pa.Table) -> None:
        """Write what a micro-batch answered; what an earlier attempt at it left is replaced.

        Args:
            micro_batch_id: Its number.
            queries: By query, figures of all its answers.
            answers: The leading ones, in `COLUMNS`.
        """
        if not queries:
            return
        if len(answers) > MOST_ANSWERS:
            latest_first = [("window_end", "descending"), ("window_until", "descending")]
            answers = answers.take(pc.sort_indices(answers, latest_first)[:MOST_ANSWERS])
        rows = [{name: value for name, value in row.items() if value is not None} for row in _plain(answers)]
        document = {
            "micro_batch_id": micro_batch_id,
            "confidence": self._confidence,
            "queries": dict(queries),
            "answers": rows,
        }
        self._folder.write_text(_file(micro_batch_id), json.dumps(document))
        for name in self._names()[:-KEPT_FILES]:
            self._folder.delete(name)

    def since(self, micro_batch_id: int) -> Iterator[dict[str, Any]]:
        """Yield what was written of micro-batches after one, oldest first; what is damaged is passed over."""
        after = _file(micro_batch_id) if micro_batch_id >= 0 else ""
        for name in self._names():
            if name > after:
                try:
                    yield json.loads(self._folder.read_text(name) or "")
                except ValueError:
                    continue

    def _names(self) -> list[str]:
        return [name for name in self._folder.names() if _NAME.fullmatch(name)]


def _plain(answers: pa.Table) -> list[dict[str, Any]]:
    """Rows as JSON has them: instants are seconds since 1970, numbers that JSON has not are texts."""
    for name in _TIMES:
        seconds = pc.divide(pc.cast(pc.cast(answers.column(name), pa.int64()), pa.float64()), 1e6)
        answers = answers.set_column(answers.schema.get_field_index(name), name, seconds)
    rows: list[dict[str, Any]] = answers.to_pylist()
    return [{name: _finite(value) for name, value in row.items()} for row in rows]


def _finite(value: Any) -> Any:
    is_odd = isinstance(value, float) and not float("-inf") < value < float("inf")
    return str(value) if is_odd else value


def _file(micro_batch_id: int) -> str:
    return f"{micro_batch_id:012d}.json"
