"""A run without a terminal: one line per micro-batch."""

from datetime import UTC, datetime

from streamshed.dashboard.run_history import RunHistory
from streamshed.dashboard.wording import count_text, seconds_text, share_text


def log_line(history: RunHistory) -> str:
    """Write the latest micro-batch as one line; empty before the first."""
    latest = history.latest
    if latest is None:
        return ""
    moment = history.moments[-1]
    started = datetime.fromtimestamp(latest.started_at_seconds, UTC).strftime("%H:%M:%S")
    parts = [
        f"{started} micro-batch {latest.micro_batch_id}: {count_text(latest.offered_rows)} rows",
        f"kept {share_text(moment.kept_share)}",
        f"took {seconds_text(latest.processing_seconds)} of {seconds_text(latest.trigger_interval_seconds)}",
        f"delay {seconds_text(moment.delay_seconds)}",
        latest.reason,
        *_answers(history),
    ]
    return ", ".join(parts)


def _answers(history: RunHistory) -> list[str]:
    queries = {} if history.latest is None else history.latest.queries
    answers = sum(query.answers for query in queries.values())
    if not answers:
        return []
    exact = sum(query.exact_answers for query in queries.values())
    known = [(query.relative_error or 0.0, name) for name, query in queries.items()]
    error, name = max(known)
    worst = f", worst error ±{share_text(error)} ({name})" if error > 0 else ""
    return [f"{count_text(answers)} answers, {share_text(exact / answers)} exact{worst}"]
