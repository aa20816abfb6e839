"""Whether the state of a checkpoint can be given another number of partitions: read from its files, without Spark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from streamshed.errors import IncompatibleCheckpointError
from streamshed.spark.checkpoint.checkpoint_reader import interrupted_repartitioning, last_begun, last_committed
from streamshed.spark.checkpoint.stop_note import stop_note
from streamshed.spark.checkpoint.storage import Storage
from streamshed.spark.inspection.checks import ClockFolder, flaws
from streamshed.spark.inspection.contents import clocks_of
from streamshed.spark.inspection.state_stores import StateOperator, state_operators
from streamshed.spark.windows.manifest import NEW_CHECKPOINT, Manifest, read_manifest

_AGGREGATE = "stateStoreSave"
"""What Spark calls a stage that aggregates. It moves the state of its groups as it moves their rows."""


@dataclass(frozen=True, kw_only=True)
class ClockPartitions(ClockFolder):
    """The checkpoint of a clock that is to have another number of partitions.

    Attributes:
        clock: Its name.
        manifest: What it was made for.
    """

    clock: str
    manifest: Manifest

    @property
    def called_off(self) -> int | None:
        """The micro-batch that Spark had begun when the run was stopped, and that nobody has seen anything of."""
        note = stop_note(self.folder)
        is_after = self.begun != self.finished and note is not None and note.last_written == self.finished
        return self.begun if is_after else None

    @property
    def interrupted(self) -> int | None:
        """To how many partitions its state was being moved when that was interrupted; None: it was not."""
        return interrupted_repartitioning(self.spark, self.manifest.partitions)


def repartitionable(checkpoint: Storage, partitions: int) -> list[ClockPartitions]:
    """Return the clocks whose state is to have another number of partitions, and can have it.

    Args:
        checkpoint: The folder of all clocks.
        partitions: So many are to be.

    Raises:
        SourceUnavailableError: It is no checkpoint.
        IncompatibleCheckpointError: It cannot be done, with all reasons.
    """
    clocks = [_clock_partitions(checkpoint, clock) for clock in clocks_of(checkpoint)]
    changing = [clock for clock in clocks if clock.interrupted or clock.manifest.partitions != partitions]
    problems = [
        f'the checkpoint "{checkpoint.root}" cannot have {partitions} partitions: clock "{clock.clock}": {problem}'
        for clock in changing
        for problem in _problems(checkpoint, clock, partitions)
    ]
    if problems:
        raise IncompatibleCheckpointError("; ".join(problems))
    return changing


def _clock_partitions(checkpoint: Storage, clock: str) -> ClockPartitions:
    folder = checkpoint.below(clock)
    manifest, spark = read_manifest(folder), folder.below("spark")
    if manifest is None:
        raise IncompatibleCheckpointError(
            f'the checkpoint "{folder.root}" has nothing in it yet: partitions={{N}} at its first start says how many'
        )
    return ClockPartitions(
        folder=folder, begun=last_begun(spark), finished=last_committed(spark), clock=clock, manifest=manifest
    )


def _problems(checkpoint: Storage, clock: ClockPartitions, partitions: int) -> Iterator[str]:
    if clock.interrupted is not None:
        # What could be wrong with it was looked for before that began.
        if clock.interrupted != partitions:
            yield (
                f"its repartitioning to {clock.interrupted} partitions was interrupted: repeat that first, with"
                f" --partitions {clock.interrupted}"
            )
        return
    yield from _unmoved(state_operators(clock.spark))
    if clock.begun != clock.finished and clock.called_off is None:
        yield (
            f"micro-batch {clock.begun} was interrupted, and may have been answered in part: start the run again, and"
            " stop it by Ctrl-C, SIGTERM or run.stop()"
        )
    for flaw in flaws(checkpoint, clock.clock):
        if not flaw.is_harmless:
            yield f"{flaw.place} {flaw.says}"


def _unmoved(operators: Sequence[StateOperator]) -> Iterator[str]:
    """The stages whose state is tied to the partition in which it lies."""
    tied = [f"{operator.number} ({operator.name})" for operator in operators if operator.name != _AGGREGATE]
    if tied:
        yield (
            f"state of joins and of windows of so many rows cannot be moved, which the stages {', '.join(tied)} have:"
            f" {NEW_CHECKPOINT.partition(',')[0]}"
        )
