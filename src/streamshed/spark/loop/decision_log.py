"""The log of what decisions change: one line for each that changes something, through `logging`."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping

from streamshed.spark.loop.run_status import RunStatus

LOGGER_NAME = "streamshed.decisions"

_log = logging.getLogger(LOGGER_NAME)


def log_changes(before: RunStatus, status: RunStatus) -> None:
    """Log a finished micro-batch if it was decided otherwise than the one before; level INFO.

    The record has the attribute `streamshed`, for structured logs: `clock`, `micro_batch_id`, `reason`, `explanation`,
    and `changes`, each a pair of what was and what is. Names, figures and reasons are in it: no rows, no SQL, no
    settings of sources and sinks.

    Args:
        before: The state after the micro-batch before.
        status: The state after this one.
    """
    if not _log.isEnabledFor(logging.INFO):
        return
    changes = dict(_changes(before, status))
    if not changes:
        return
    fields = {
        "clock": status.clock,
        "micro_batch_id": status.micro_batch_id,
        "reason": status.reason,
        "explanation": status.explanation,
        "changes": changes,
    }
    change_texts = ", ".join(f"{name} {_text(old)} → {_text(new)}" for name, (old, new) in changes.items())
    _log.info(
        "%s: micro-batch %d: %s: %s (%s)",
        *(status.clock, status.micro_batch_id, status.reason, status.explanation or "no plan", change_texts),
        extra={"streamshed": fields},
    )


def _changes(before: RunStatus, status: RunStatus) -> Iterator[tuple[str, tuple[object, object]]]:
    """What was decided otherwise, by name: of rates and shares by that of their sampler or query."""
    if before.reason != status.reason:
        yield "reason", (before.reason, status.reason)
    yield from _changed_shares("sampling rate of", before.samplers, status.samplers)
    yield from _changed_shares("windows kept of", before.kept_shares, status.kept_shares)
    if set(before.missed_goals) != set(status.missed_goals):
        yield "missed goals", (sorted(before.missed_goals), sorted(status.missed_goals))
    wanted = [None if state.scaling is None else state.scaling.workers_wanted for state in (before, status)]
    if wanted[0] != wanted[1]:
        yield "workers wanted", (wanted[0], wanted[1])


def _changed_shares(
    what: str, before: Mapping[str, float], now: Mapping[str, float]
) -> Iterator[tuple[str, tuple[object, object]]]:
    """A share that is not there is whole."""
    for name in sorted({*before, *now}):
        old, new = before.get(name, 1.0), now.get(name, 1.0)
        if old != new:
            yield f"{what} {name}", (old, new)


def _text(value: object) -> str:
    match value:
        case float():
            return f"{value:.3g}"
        case list():
            return ", ".join(map(str, value)) or "none"
    return str(value)
