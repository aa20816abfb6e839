"""A checkpoint as a run with a burst leaves it, as far as the page reads it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from streamshed.answering.table.answer_schema import arrow_schema
from streamshed.answering.table.leading_answers import leading_answers
from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import QueryNetwork, network
from streamshed.network.run.settings import Settings
from streamshed.network.source.sources import rate
from streamshed.spark.checkpoint.answer_files import ANSWERS_FOLDER, AnswerFiles
from streamshed.spark.checkpoint.description import describe
from streamshed.spark.checkpoint.storage import STATISTICS_FILE, Storage
from streamshed.spark.loop.history import History
from streamshed.statistics.guess import believed_statistics

START_SECONDS = 1_700_000_000.0


def monitored(queries: int) -> QueryNetwork:
    """So many queries over one stream; the first name is one that must not be taken for HTML."""
    ticks = stream("ticks", rate(100), time="timestamp")
    return network(
        *(
            ticks.filter(f"value > {number}").window("10 seconds").agg(n="count(*)").query(f"q{number}")
            for number in range(queries)
        )
    )


def row(number: int, asked: QueryNetwork, *, share: float = 1.0, **other: Any) -> dict[str, Any]:
    """A row of the journal."""
    names = [query.name for query in asked.queries]
    sampler = asked.queries[0].node.path[1].address
    return {
        "micro_batch_id": number,
        "started_at_seconds": START_SECONDS + 2 * number,
        "reason": "within_budget" if share == 1 else "overload",
        "explanation": "1.2 s of work for 1.6 s: everything is kept"
        if share == 1
        else "<b>4.8 s</b> of work for 1.6 s",
        "missed_goals": "",
        "shedding": share < 1 or any(kept < 1 for kept in other.get("kept_shares", {}).values()),
        "offered_rows": 1000 if share == 1 else 5000,
        "admitted_rows": 1000,
        "work_share": share,
        "sampling_rate": share,
        "budget_seconds": 1.6,
        "unshed_seconds": 1.2 if share == 1 else 4.8,
        "unsheddable_seconds": 0.5,
        "expected_seconds": 1.2,
        "processing_seconds": 1.25,
        "trigger_interval_seconds": 2.0,
        "delay_seconds": 3.25,
        "clock": "time",
        "answers": 10,
        "exact_answers": 10 if share == 1 else 4,
        "effective_sampling_rates": dict.fromkeys(names, share),
        "expected_errors": dict.fromkeys(names, 0.0 if share == 1 else 0.034),
        "kept_shares": {},
        "samplers": {} if share == 1 else {sampler: share},
        "gaps": 0,
        "workers_running": None,
        **other,
    }


def tally(share: float) -> dict[str, Any]:
    """What a query answered in a micro-batch."""
    is_exact = share == 1
    error = 0.0 if is_exact else 0.06
    return {"answers": 1, "exact_answers": int(is_exact), "gaps": 0, "rows": 0, "relative_error": error}


def answers(number: int, names: Sequence[str], share: float) -> pa.Table:
    """An answer of each query, for a window that ends with the micro-batch."""
    until, is_exact = START_SECONDS + 2 * number, share == 1
    width = 0.0 if is_exact else 60.0
    shared = {
        "kind": "answer",
        "window_start": round(1e6 * (until - 10)),
        "window_end": round(1e6 * until),
        "key": [],
        "aggregate": "n",
        "value": 1000.0,
        "lower": 1000.0 - width,
        "upper": 1000.0 + width,
        "confidence": 1.0 if is_exact else 0.95,
        "rows_estimated": 1000.0,
        "exact": is_exact,
        "reason": None if is_exact else "sampled",
    }
    rows = [shared | {"query": name} for name in names]
    return leading_answers(pa.RecordBatch.from_pylist(rows, schema=arrow_schema()))


class Recorded:
    """A checkpoint that micro-batches are added to.

    Args:
        path: Its folder.
        queries: How many there are.
        has_answers: Whether their answers lie beside the journal.
        asked: What is asked instead; None: so many queries over one stream.
    """

    def __init__(
        self, path: Path, queries: int = 3, *, has_answers: bool = True, asked: QueryNetwork | None = None
    ) -> None:
        self.path, self.network = path, monitored(queries) if asked is None else asked
        self._history = History(Storage.at(str(path)).below("time/journal"))
        self._has_answers = has_answers
        self._answer_files = AnswerFiles(Storage.at(str(path)).below(f"time/{ANSWERS_FOLDER}"))
        describe(Storage.at(str(path)), self.network, Settings())
        statistics = believed_statistics(self.network, None).to_json()
        Storage.at(str(path)).below("time").write_sealed(STATISTICS_FILE, statistics)
        self.count = 0

    def add(self, micro_batches: int = 1, **row_settings: Any) -> None:
        """Let micro-batches finish."""
        for _ in range(micro_batches):
            names = [query.name for query in self.network.queries]
            share = row_settings.get("share", 1.0)
            if self._has_answers:
                self._answer_files.write(
                    self.count, dict.fromkeys(names, tally(share)), answers(self.count, names, share)
                )
            self._history.append(row(self.count, self.network, **row_settings))
            self.count += 1


def lines_of(path: Path) -> list[dict[str, Any]]:
    """The rows of all segments."""
    return [
        json.loads(line) for file in sorted(path.glob("time/journal/*.jsonl")) for line in file.read_text().splitlines()
    ]
