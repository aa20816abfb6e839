"""A run as those see it who follow it from outside."""

from collections.abc import Mapping, Sequence

from streamshed.spark.loop.run_status import RunStatus


class ReportingRun:
    """A run that has finished some micro-batches."""

    def __init__(self, *statuses: RunStatus) -> None:
        self.statuses, self.is_active = list(statuses), True

    def statuses_since(self, micro_batch_ids: Mapping[str, int]) -> Sequence[RunStatus]:
        return [status for status in self.statuses if status.micro_batch_id > micro_batch_ids.get(status.clock, -1)]
