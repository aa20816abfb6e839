from types import SimpleNamespace
from typing import Any, cast

from streamshed.spark.hand_over import RunningDomains
from streamshed.spark.loop.finished import Finished
from streamshed.spark.loop.run_status import RunStatus
from streamshed.spark.run import Run
from streamshed.spark.supervision import Supervision


def finished(clock: str, *, first_end: float, micro_batches: int) -> Finished:
    kept = Finished(clock)
    for number in range(micro_batches):
        kept.add(
            RunStatus(
                clock=clock,
                micro_batch_id=number,
                started_at_seconds=first_end - 1.5 + 2 * number,
                processing_seconds=1.5,
            )
        )
    return kept


def run_of(*kept: Finished) -> Run:
    domains = [SimpleNamespace(domain=SimpleNamespace(clock=one.latest.clock), finished=one) for one in kept]
    running = RunningDomains(cast(Any, domains))
    supervision = Supervision(running, lambda _: None, patience_seconds=1.0)
    return Run(running, *cast(tuple[Any, Any, Any], (None, None, None)), supervision)


def ids(statuses: tuple[RunStatus, ...]) -> list[tuple[str, int]]:
    return [(status.clock, status.micro_batch_id) for status in statuses]


def test_only_so_many_are_kept() -> None:
    kept = finished("time", first_end=0.0, micro_batches=1000)
    assert [status.micro_batch_id for status in kept.since(-1)] == list(range(900, 1000))


def test_micro_batches_of_all_time_domains_come_in_the_order_in_which_they_finished() -> None:
    run = run_of(
        finished("time", first_end=10.0, micro_batches=2), finished("sensors", first_end=11.0, micro_batches=2)
    )
    assert ids(run.statuses_since({})) == [("time", 0), ("sensors", 0), ("time", 1), ("sensors", 1)]
    assert ids(run.statuses_since({"time": 1, "sensors": 0})) == [("sensors", 1)]
