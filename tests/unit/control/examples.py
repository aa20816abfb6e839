"""Plans, outcomes and questions that the tests of the control loop share."""

from streamshed.control.decision import Upcoming
from streamshed.control.known import known_statistics
from streamshed.control.loop import ControlLoop
from streamshed.network.run.load_prior import LoadPrior
from streamshed.planning.plan.budget import Budget
from streamshed.statistics.forecast import Statistics
from streamshed.statistics.load_model import LoadModel
from streamshed.statistics.micro_batch import MicroBatchOutcome
from streamshed.statistics.network_statistics import NetworkStatistics

PRIOR = LoadPrior(fixed_seconds=0.2, seconds_per_row=1e-6, read_share=0.2)
BUDGET = Budget(trigger_interval_seconds=2.0, deadline_seconds=2.0, headroom=0.8)


def statistics(**rows: int) -> Statistics:
    return Statistics(offered_rows=rows, load_model=LoadModel.initial(list(rows), PRIOR))


def known_of(loop: ControlLoop) -> NetworkStatistics:
    return known_statistics(loop.network, loop.settings, loop.state)


def upcoming(micro_batch_id: int, rows: dict[str, int], *, sizes_known: bool = True, backlog_rows: int = 0) -> Upcoming:
    return Upcoming(
        micro_batch_id=micro_batch_id,
        offered_rows=rows,
        sizes_known=sizes_known,
        backlog_rows=backlog_rows,
        now_seconds=2.0 * (micro_batch_id + 1),
    )


def outcome(micro_batch_id: int, rows: dict[str, int], kept: dict[str, float], seconds: float) -> MicroBatchOutcome:
    return MicroBatchOutcome(
        micro_batch_id=micro_batch_id,
        offered_rows=rows,
        admitted_rows={stream: count * kept.get(stream, 1.0) for stream, count in rows.items()},
        sampling_rates=kept,
        processing_seconds=seconds,
        trigger_interval_seconds=2.0,
        started_at_seconds=2.0 * (micro_batch_id + 1),
    )
