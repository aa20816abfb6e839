"""What is learned of a finished micro-batch."""

from collections.abc import Mapping
from dataclasses import replace

from streamshed.control.decision import Decision
from streamshed.control.journal import JournalEntry
from streamshed.control.state import ControlState
from streamshed.statistics.learned import LearnedStatistics
from streamshed.statistics.measured import Measured
from streamshed.statistics.micro_batch import MicroBatchOutcome
from streamshed.statistics.speedup import scattered_cost
from streamshed.statistics.task_costs import scattered_factors, task_costs, with_task_seconds


def learn(
    state: ControlState, outcome: MicroBatchOutcome, measured: Measured | None = None
) -> tuple[ControlState, JournalEntry]:
    """Learn from a finished micro-batch, once, and compare it with what was expected.

    The time of a cold micro-batch, or of an outlier, says nothing of those to come: only its rows, event times and
    windows count.
    """
    decision = state.decision(outcome.micro_batch_id)
    if state.last_outcome is not None and outcome.micro_batch_id <= state.last_outcome.micro_batch_id:
        return state, _entry(state, decision, outcome, learned=False)
    task_seconds = _task_seconds(state, outcome, measured)
    factors = scattered_factors(task_seconds).items()
    costs = {stream: scattered_cost(outcome.bundle_width(stream), factor) for stream, factor in factors}
    outcome = replace(outcome, scattered_costs=costs)
    load_model = state.load_model
    if not outcome.is_cold:
        load_model = load_model.updated(outcome, _functions(state, outcome), task_costs(task_seconds))
    tells_costs = not (outcome.is_cold or load_model.disregards_latest)
    observed = replace(
        state,
        arrivals=state.arrivals.observed(outcome.offered_rows, outcome.started_at_seconds),
        load_model=load_model,
        last_outcome=outcome,
        state_size=state.state_size.updated(outcome),
        learned=replace(_learned(state, outcome, measured, tells_costs=tells_costs), task_seconds=task_seconds),
    )
    if not tells_costs:
        return observed, _entry(observed, decision, outcome, learned=False)
    learned = replace(
        observed,
        regulator=state.regulator.updated(
            measured_seconds=outcome.processing_seconds,
            predicted_seconds=load_model.seconds(outcome.costed_rows, outcome.costed_shares),
            correction=state.regulator.correction if decision is None else decision.correction,
        ),
    )
    return learned, _entry(learned, decision, outcome, learned=True)


def _functions(state: ControlState, outcome: MicroBatchOutcome) -> dict[str, float]:
    """What user functions and SQL take per row on the workers that the load model knows costs for; not of joins."""
    return {
        stream: state.learned.measured_seconds_per_row(stream) * outcome.speedup
        for stream in outcome.offered_rows
        if stream not in outcome.work_per_row
    }


def _task_seconds(
    state: ControlState, outcome: MicroBatchOutcome, measured: Measured | None
) -> Mapping[str, Mapping[str, float]]:
    """What tasks have told; those of a cold micro-batch compile, too."""
    earlier = state.learned.task_seconds
    if measured is None or outcome.is_cold:
        return earlier
    return with_task_seconds(earlier, measured.task_reports, outcome, measured.parallel_tasks)


def _learned(
    state: ControlState, outcome: MicroBatchOutcome, measured: Measured | None, *, tells_costs: bool
) -> LearnedStatistics:
    if measured is None:
        return state.learned
    usable = measured if tells_costs else replace(measured, calls={}, state_seconds=None)
    last = state.last_outcome
    elapsed_seconds = outcome.trigger_interval_seconds
    if last is not None:
        elapsed_seconds = max(outcome.started_at_seconds - last.started_at_seconds, 1e-3)
    decision = state.decision(outcome.micro_batch_id)
    return state.learned.updated(
        usable,
        offered_rows=outcome.offered_rows,
        elapsed_seconds=elapsed_seconds,
        sampling_rates={} if decision is None else decision.effective_sampling_rates,
    )


def _entry(
    state: ControlState, decision: Decision | None, outcome: MicroBatchOutcome, *, learned: bool
) -> JournalEntry:
    return JournalEntry(
        decision=decision,
        outcome=outcome,
        model_seconds=state.load_model.seconds(outcome.costed_rows, outcome.costed_shares),
        learned=learned,
    )
