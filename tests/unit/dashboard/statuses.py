"""States of a run to be shown."""

from streamshed.spark.loop.run_status import QueryStatus, RunStatus


def status(
    micro_batch_id: int,
    *,
    clock: str = "time",
    offered: int = 1000,
    kept: float = 1.0,
    **queries: QueryStatus,
) -> RunStatus:
    return RunStatus(
        clock=clock,
        micro_batch_id=micro_batch_id,
        started_at_seconds=1_700_000_000.0 + 2 * micro_batch_id,
        processing_seconds=1.5,
        trigger_interval_seconds=2.0,
        offered_rows=offered,
        admitted_rows=round(offered * kept),
        sampling_rates={"packets": kept},
        delay_seconds=3.5,
        reason="within_budget" if kept == 1 else "overload",
        explanation="1,000 rows fit" if kept == 1 else "5,000 rows would take 4.1 s",
        queries=queries,
        unreadable_rows=2,
    )


def answered(answers: int, *, exact: int, error: float | None = 0.0, late: int = 0) -> QueryStatus:
    return QueryStatus(
        answers=answers,
        exact_answers=exact,
        relative_error=error,
        late_pairs=late,
        latest_window_end_seconds=1_700_000_010.0,
    )
