"""What queries answered of late, from the files of a checkpoint: the same for every sink, while it runs and after."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping
from statistics import NormalDist
from typing import Any

from streamshed.network.run.settings import Settings
from streamshed.spark.checkpoint.answer_files import ANSWERS_FOLDER, AnswerFiles
from streamshed.spark.checkpoint.storage import Storage

MOST_OF_A_QUERY, MOST_OF_ALL, LEAST_OF_A_QUERY = 600, 100_000, 60
"""So many of the latest answers and gaps of a query are shown; of many queries fewer each."""

_SHORT = (
    "kind",
    "aggregate",
    "key",
    "value",
    "value_text",
    "lower",
    "upper",
    "exact",
    "reason",
    "window_end",
    "window_until",
)

Answer = Mapping[str, Any]
"""An answer or a gap, by the columns of docs/answers.md that are known; instants in seconds since 1970."""


class RecentAnswers:
    """The latest answers of each query, of bounded number. One thread may use it at a time.

    Args:
        checkpoint: The folder of all clocks.
    """

    def __init__(self, checkpoint: Storage) -> None:
        self._checkpoint = checkpoint
        self._seen: dict[str, int] = {}
        # As JSON, which takes a fifth of the memory.
        self._answers: dict[str, deque[str]] = {}
        self._figures: dict[str, dict[str, Any]] = {}
        self._confidence = Settings.confidence

    @property
    def figures(self) -> Mapping[str, Mapping[str, Any]]:
        """What each query answered, by its name.

        That is `answers`, `exact_answers`, `gaps` and `rows` since the first file that is kept; `relative_error`, the
        mean half width of bounds by the value; and `last`, one of the latest answers.
        """
        return self._figures

    @property
    def bound_factor(self) -> float:
        """By what a relative standard error is multiplied to be compared with half the width of bounds.

        That is the normal quantile at (1 + c)/2, c the confidence of the run.
        """
        # At the lower end, where numbers are dense: (1 + c)/2 is 1 for the greatest c below 1.
        return -NormalDist().inv_cdf((1 - self._confidence) / 2)

    def of_query(self, query: str) -> list[Answer]:
        """Return its leading answers and gaps, oldest first."""
        answers: list[Answer] = [json.loads(text) for text in self._answers.get(query, ())]
        return sorted(answers, key=_end)

    def look(self, clocks: list[str]) -> Mapping[str, Mapping[str, Any]]:
        """Read what is new; returns the figures of queries that have answered.

        Args:
            clocks: The time domains.
        """
        answered: set[str] = set()
        for clock in clocks:
            files = AnswerFiles(self._checkpoint.below(f"{clock}/{ANSWERS_FOLDER}"))
            for document in files.since(self._seen.get(clock, -1)):
                self._seen[clock] = document["micro_batch_id"]
                answered |= document["queries"].keys()
                self._take(document)
        return {query: self._figures[query] for query in answered}

    def _keep(self, query: str, answer: str) -> None:
        of_query = self._answers.setdefault(query, deque())
        of_query.append(answer)
        most = min(MOST_OF_A_QUERY, max(LEAST_OF_A_QUERY, MOST_OF_ALL // len(self._answers)))
        while len(of_query) > most:
            of_query.popleft()

    def _take(self, document: Mapping[str, Any]) -> None:
        self._confidence = document.get("confidence", self._confidence)
        latest: dict[str, Answer] = {}
        for answer in document["answers"]:
            query = answer["query"]
            self._keep(query, json.dumps(answer))
            if query not in latest or (_end(answer), _rows(answer)) > (_end(latest[query]), _rows(latest[query])):
                latest[query] = answer
        for query, tally in document["queries"].items():
            before = self._figures.get(query, {})
            sums = {name: before.get(name, 0) + tally[name] for name in ("answers", "exact_answers", "gaps", "rows")}
            error = tally["relative_error"]
            self._figures[query] = sums | {
                "relative_error": before.get("relative_error") if error is None else error,
                "last": _shortened(latest[query]) if query in latest else before.get("last"),
            }


def _shortened(answer: Answer) -> Answer:
    """What a line of a table needs of it."""
    return {name: answer[name] for name in _SHORT if name in answer}


def _end(answer: Answer) -> float:
    """Where its window ends, as a time or a number."""
    return float(answer.get("window_end", answer.get("window_until", 0)))


def _rows(answer: Answer) -> float:
    return float(answer.get("rows_estimated", 0))
