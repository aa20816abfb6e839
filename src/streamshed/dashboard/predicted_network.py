"""Predictions of a network's dropped windows in the forms that people want: text and JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamshed.network.words.wording import share_text

_MOST_LINES = 40
"""So many predictions of a query are listed, those of the latest windows; JSON has all of them."""


@dataclass(frozen=True)
class PredictedGaps:
    """What was predicted of one query.

    Attributes:
        query: Its name.
        dropped_windows: How many windows were dropped, for all groups or some.
        answers: Answers there are, of all groups and aggregates.
        predictions: The predictions: rows of the answer schema, of kind "prediction", by window.
    """

    query: str
    dropped_windows: int
    answers: int
    predictions: pa.Table

    @property
    def predicted_windows(self) -> int:
        """How many windows anything is predicted of."""
        windows = self.predictions.select(["window_start", "window_from"])
        return len(windows.group_by(["window_start", "window_from"]).aggregate([]))

    @property
    def median_relative_error(self) -> float | None:
        """The median of standard error ÷ value; None where nothing tells how far off any is."""
        values, errors = (self.predictions[name].to_numpy().astype(np.float64) for name in ("value", "standard_error"))
        with np.errstate(invalid="ignore", divide="ignore"):
            shares = errors / np.abs(values)
        finite_shares = shares[np.isfinite(shares)]
        return float(np.median(finite_shares)) if finite_shares.size else None

    def to_document(self) -> dict[str, object]:
        """Return what is told of the query."""
        return {
            "query": self.query,
            "answers": self.answers,
            "dropped_windows": self.dropped_windows,
            "predicted_windows": self.predicted_windows,
            "predictions": len(self.predictions),
            "median_relative_error": self.median_relative_error,
        }


@dataclass(frozen=True)
class PredictedNetwork:
    """What was predicted of a network's queries; `str` writes it for a person.

    Attributes:
        answers: Where the answers lie.
        method: How it was predicted.
        queries: Query by query.
        file: Where the predictions were written; None: they are told.
    """

    answers: str
    method: str
    queries: Sequence[PredictedGaps]
    file: str | None = None

    def to_json(self) -> str:
        """Return it as one JSON object; predictions have no `value`, but a `predicted_value`."""
        document: dict[str, object] = {
            "answers": self.answers,
            "method": self.method,
            "queries": [gaps.to_document() for gaps in self.queries],
        }
        if self.file is None:
            document["predictions"] = [row for gaps in self.queries for row in self._rows(gaps.predictions)]
        else:
            document["out"] = self.file
        return json.dumps(document, allow_nan=False, ensure_ascii=False)

    def __str__(self) -> str:
        lines = [f"predictions, not answers: {self.method}, from {self.answers}"]
        for gaps in self.queries:
            error = gaps.median_relative_error
            lines += [
                "",
                f"{gaps.query}: {gaps.dropped_windows:,} windows dropped, {gaps.predicted_windows:,} of them predicted"
                f" ({len(gaps.predictions):,} values)"
                + ("" if error is None else f"; off by {share_text(error)} as a rule, by what the past tells"),
            ]
            if self.file is None:
                lines += self._listed(gaps.predictions)
        if self.file is not None:
            lines += ["", f"written: {self.file}"]
        return "\n".join(lines)

    def _listed(self, predictions: pa.Table) -> Iterator[str]:
        left_out = len(predictions) - _MOST_LINES
        if left_out > 0:
            yield f"  ... {left_out:,} before (all of them: --json or --out)"
        for row in self._rows(predictions.slice(max(left_out, 0))):
            window = " to ".join(str(row[edge]).replace(".000000Z", "Z") for edge in self._edges(row))
            group = "".join(f"  {'null' if key is None else key}" for key in row["key"])
            off = "?" if row["standard_error"] is None else f"{row['standard_error']:.4g}"
            value = "?" if row["predicted_value"] is None else f"{row['predicted_value']:.6g}"
            yield f"  {window}{group}  {row['aggregate']} predicted {value} ± {off}"

    @staticmethod
    def _edges(row: dict[str, Any]) -> tuple[str, str]:
        return ("window_start", "window_end") if row["window_from"] is None else ("window_from", "window_until")

    def _rows(self, predictions: pa.Table) -> Iterator[dict[str, Any]]:
        columns = ("window_start", "window_end", "window_from", "window_until", "key", "aggregate")
        times = {
            name: pc.strftime(predictions[name], "%Y-%m-%dT%H:%M:%SZ").to_pylist()
            for name in ("window_start", "window_end")
        }
        for place, row in enumerate(predictions.select(["query", *columns, "value", "standard_error"]).to_pylist()):
            window_fields = {name: times[name][place] if name in times else row[name] for name in columns}
            yield {
                "kind": "prediction",
                "query": row["query"],
                **window_fields,
                "predicted_value": row["value"],
                "standard_error": row["standard_error"],
                "method": self.method,
            }
