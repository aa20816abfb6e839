"""A row of the journal: what the control loop says of a micro-batch, and what became of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict

from streamshed.control.decision import Decision
from streamshed.planning.tree.quantization import sampling_rate_of
from streamshed.spark.cluster.scaling_status import scaling_columns
from streamshed.spark.loop.run_status import RunStatus


def journal_row(
    row: Mapping[str, str | int | float | bool | None], status: RunStatus, decision: Decision | None
) -> dict[str, object]:
    """Return the row of a finished micro-batch.

    Args:
        row: What the control loop says.
        status: What became of it.
        decision: What was decided; None: that is not known any more.
    """
    errors = [q.relative_error for q in status.queries.values() if q.relative_error is not None]
    return {
        **row,
        "shedding": status.is_shedding,
        "clock": status.clock,
        "watermark_seconds": status.watermark_seconds,
        "delay_seconds": status.delay_seconds,
        "state_rows": status.state_rows,
        "state_bytes": status.state_bytes,
        "answers": sum(query.answers for query in status.queries.values()),
        "exact_answers": sum(query.exact_answers for query in status.queries.values()),
        "effective_sampling_rates": dict(status.effective_sampling_rates),
        "expected_errors": {} if decision is None else dict(decision.expected_errors),
        "kept_shares": dict(status.kept_shares),
        "gaps": sum(query.gaps for query in status.queries.values()),
        "predictions": sum(query.predictions for query in status.queries.values()),
        "samplers": dict(status.samplers),
        "size_thresholds": (
            {} if decision is None else {query: sized.threshold for query, sized in decision.sized.items()}
        ),
        "counting_rates": (
            {} if decision is None else {query: sampling_rate_of(code) for query, code in decision.counting.items()}
        ),
        "useful_rates": {} if decision is None else dict(decision.useful_rates),
        "needed_rows_per_second": {} if decision is None else dict(decision.needs.rows_per_second),
        "ignored_needs": "" if decision is None else "; ".join(decision.needs.ignored),
        "late_pairs": sum(query.late_pairs for query in status.queries.values()),
        "unreadable_rows": status.unreadable_rows,
        "lost_rows": status.lost_rows,
        "joins": {name: asdict(join) for name, join in status.joins.items()},
        "mean_relative_error": sum(errors) / len(errors) if errors else None,
        **scaling_columns(status.scaling),
    }


def rows_admitted(offered: Mapping[str, int], admitted: Mapping[str, float]) -> float:
    """Return how many rows of sources passed their samplers; those of a source that only joins ask for all do.

    Args:
        offered: By source, the rows that were read.
        admitted: By stream that queries ask for, joined ones among them, the rows that passed.
    """
    return sum(admitted.get(source, float(rows)) for source, rows in offered.items())
