"""What decisions on micro-batches do to the answers of each query, added up."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from streamshed.control.decision import Decision
from streamshed.planning.tree.quantization import WHOLE, sampling_rates_of
from streamshed.simulator.course import QueryCourse


class AnswersCourse:
    """Takes in decisions, and tells what became of each query.

    Args:
        queries: Names of all queries.
    """

    def __init__(self, queries: Sequence[str]) -> None:
        self._queries = tuple(queries)
        count = len(self._queries)
        self._seconds, self._shed_seconds = 0.0, np.zeros(count)
        self._errors, self._worst = np.zeros(count), np.zeros(count)
        self._least, self._kept_shares = np.ones(count), np.ones(count)

    def add(self, decision: Decision, seconds: float) -> tuple[float, float]:
        """Take in a decision that held for so long.

        Returns:
            The share of rows that queries are not answered from, on average over queries, and the worst expected error.
        """
        self._seconds += seconds
        if decision.advisory or not decision.shedding:
            return 0.0, 0.0
        codes = np.array([decision.query_codes.get(query, WHOLE) for query in self._queries])
        errors = np.array([decision.expected_errors.get(query, 0.0) for query in self._queries])
        kept_shares = np.array([decision.kept_shares.get(query, 1.0) for query in self._queries])
        rates = sampling_rates_of(codes)
        shed = (rates < 1) | (kept_shares < 1)
        self._shed_seconds += seconds * shed
        self._errors += seconds * shed * errors
        np.maximum(self._worst, errors, out=self._worst)
        np.minimum(self._least, rates, out=self._least)
        np.minimum(self._kept_shares, kept_shares, out=self._kept_shares)
        return float((1 - rates * kept_shares).mean()), float(errors.max())

    def courses(self) -> list[QueryCourse]:
        """Return what became of each query."""
        shed = np.where(self._shed_seconds > 0, self._shed_seconds, 1.0)
        return [
            QueryCourse(
                query=query,
                whole_share=1 - float(self._shed_seconds[place]) / self._seconds if self._seconds else 1.0,
                least_rate=float(self._least[place]),
                worst_error=float(self._worst[place]),
                mean_error=float(min(self._worst[place], self._errors[place] / shed[place])),
                kept_windows_share=float(self._kept_shares[place]),
            )
            for place, query in enumerate(self._queries)
        ]
