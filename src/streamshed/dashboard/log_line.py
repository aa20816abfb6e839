"""A run without a terminal: one line per micro-batch."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from streamshed.dashboard.run_history import RunHistory
from streamshed.network.words.wording import count_text, seconds_text, share_text

if TYPE_CHECKING:
    from streamshed.spark.loop.run_status import QueryStatus


def log_line(history: RunHistory) -> str:
    """Write the micro-batch that finished last as one line, with its clock where there are several; empty before it."""
    latest, moment = history.latest, history.moment
    if latest is None or moment is None:
        return ""
    clock = f" {latest.clock}:" if len(history.domains) > 1 else ""
    started = datetime.fromtimestamp(latest.started_at_seconds, UTC).strftime("%H:%M:%S")
    parts = [
        f"{started}{clock} micro-batch {latest.micro_batch_id}: {count_text(latest.offered_rows)} rows",
        f"kept {share_text(moment.kept_share)}",
        f"took {seconds_text(latest.processing_seconds)} of {seconds_text(latest.trigger_interval_seconds)}",
        f"delay {seconds_text(moment.delay_seconds)}",
        latest.reason,
        *_answers(history),
        *_counted(history, lambda query: query.gaps, "windows dropped"),
        *_counted(history, lambda query: query.predictions, "predictions"),
        *([f"{count_text(latest.lost_rows)} rows lost so far"] if latest.lost_rows else []),
    ]
    return ", ".join(parts)


def _counted(history: RunHistory, count: Callable[[QueryStatus], int], what: str) -> list[str]:
    queries = {} if history.latest is None else history.latest.queries
    together = sum(map(count, queries.values()))
    return [f"{count_text(together)} {what}"] if together else []


def _answers(history: RunHistory) -> list[str]:
    queries = {} if history.latest is None else history.latest.queries
    answers = sum(query.answers for query in queries.values())
    if not answers:
        return []
    exact = sum(query.exact_answers for query in queries.values())
    errors = [(query.relative_error or 0.0, name) for name, query in queries.items()]
    error, name = max(errors)
    worst = f", worst error ±{share_text(error)} ({name})" if error > 0 else ""
    return [f"{count_text(answers)} answers, {share_text(exact / answers)} exact{worst}"]
