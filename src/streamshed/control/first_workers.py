"""With how many workers a run begins, by what is known before its first micro-batch ([E] Eq. 2)."""

from __future__ import annotations

from dataclasses import dataclass

from streamshed.control.settings import ControlSettings
from streamshed.control.state import ControlState
from streamshed.elasticity.controller_names import KEEPS_WORKERS
from streamshed.elasticity.deployment import workers_to_deploy
from streamshed.elasticity.errors import InvalidElasticityError
from streamshed.elasticity.pieces import Pieces
from streamshed.elasticity.settings import ElasticSettings
from streamshed.elasticity.workers import WorkerLimits
from streamshed.network.run.load_prior import LoadPrior


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownWork:
    """What a micro-batch of the load that is to be expected takes on one worker.

    Attributes:
        shared_seconds: Its rows.
        fixed_seconds: Whatever it takes besides, on any number of workers.
    """

    shared_seconds: float
    fixed_seconds: float


def known_work(state: ControlState, settings: ControlSettings) -> KnownWork | None:
    """Return what is known of the work to come before a run has decided on anything.

    With a checkpoint: the work of the latest micro-batches, over the time in which their rows came. Without: the rows
    per second of the given statistics, at the costs of the given prior. Guessed rows or costs do not count, nor do
    statistics of results of joins.

    Args:
        state: Of the control loop, new or restored.
        settings: Its prior and statistics.
    """
    model = state.load_model
    if not model.memory and settings.prior == LoadPrior():
        return None
    fixed_seconds = model.fixed_seconds * state.regulator.correction
    interval = settings.trigger_interval_seconds
    first, *later = state.decisions or (None,)
    if first is not None and later:
        elapsed = later[-1].now_seconds - first.now_seconds
        shared = sum(max(0.0, each.demanded_seconds - fixed_seconds) * each.speedup for each in later)
        return (
            KnownWork(shared_seconds=shared * interval / elapsed, fixed_seconds=fixed_seconds) if elapsed > 0 else None
        )
    stream_statistics = {} if settings.statistics is None else settings.statistics.streams
    rows = {name: each.rows_per_second * interval for name, each in stream_statistics.items() if name in model.streams}
    if not any(rows.values()):
        return None
    return KnownWork(shared_seconds=model.seconds(rows, {}) - model.fixed_seconds, fixed_seconds=model.fixed_seconds)


def first_workers(
    elastic: ElasticSettings, *, wanted_before: int | None, work: KnownWork | None, available_seconds: float
) -> int:
    """Return with how many workers to begin: what was wanted last, else M for the known work, else `least`.

    Args:
        elastic: Thresholds and limits, those of pieces among them. Where the number of workers is kept whatever comes,
            it is `least`.
        wanted_before: How many were wanted before a restart; None: that is not known.
        work: What is to be done; None: that is not known.
        available_seconds: The time there is for it, above 0.

    Returns:
        At least `least` and at most `most`.

    Example:
        >>> elastic, work = ElasticSettings(limits=WorkerLimits(most=8)), KnownWork(shared_seconds=4, fixed_seconds=0.2)
        >>> [first_workers(elastic, wanted_before=wanted, work=known, available_seconds=2.0)
        ...     for wanted, known in ((3, work), (12, work), (None, work), (None, None))]
        [3, 8, 6, 1]
    """
    limits = elastic.limits
    if elastic.controller in KEEPS_WORKERS:
        return limits.least
    if wanted_before is not None:
        return _within(limits, wanted_before)
    if work is None:
        return limits.least
    try:
        return workers_to_deploy(
            shared_seconds=work.shared_seconds,
            fixed_seconds=work.fixed_seconds,
            available_seconds=available_seconds,
            thresholds=elastic.thresholds,
            limits=limits,
        )
    except InvalidElasticityError:
        # No number of workers is enough, so that more than can be avoided would come in vain.
        return limits.least


def _within(limits: WorkerLimits, wanted: int) -> int:
    most = wanted if limits.most is None else min(wanted, limits.most)
    return max(limits.least, Pieces(limits.partitions).useful_workers(max(1, most)))
