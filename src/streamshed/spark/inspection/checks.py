"""Whether the checkpoint of a clock is whole: each check a function, and what they find.

Rests on Spark's internals: tests/spark/contracts/test_checkpoint_files.py.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from streamshed.errors import DamagedFileError, SourceMismatchError, StreamshedError
from streamshed.spark.admit.set_aside_limit import DELETED_FILE
from streamshed.spark.checkpoint.checkpoint_reader import (
    files_of,
    interrupted_repartitioning,
    last_begun,
    last_committed,
)
from streamshed.spark.checkpoint.storage import STATISTICS_FILE, Storage
from streamshed.spark.inspection.file_checksums import damaged_files
from streamshed.spark.inspection.state_stores import is_of_another_attempt, missing_state
from streamshed.spark.loop.learned_files import JOINS_FILE, LOOP_FILE
from streamshed.spark.plan.plan_row import PlanRow
from streamshed.spark.windows.manifest import FILE, Manifest, read_manifest

_PLAN = re.compile(r"plans/(\d{12})\.json")
_JOURNAL = re.compile(r"journal/\d{8}\.jsonl")
_RENEWED = {
    **dict.fromkeys((LOOP_FILE, JOINS_FILE, STATISTICS_FILE), "it is learned anew"),
    DELETED_FILE: "rows that are gone are counted anew",
}
"""Files that a run can do without, and what it does then."""


@dataclass(frozen=True)
class Flaw:
    """Something that is wrong with a checkpoint.

    Attributes:
        place: The file or folder, relative to the checkpoint.
        says: What is wrong.
        is_harmless: Whether the checkpoint goes on all the same.
    """

    place: str
    says: str
    is_harmless: bool = False


@dataclass(frozen=True, kw_only=True)
class ClockFolder:
    """The checkpoint of a clock, and how far it is.

    Attributes:
        folder: Its folder.
        begun: The micro-batch that Spark has begun last; None: none.
        finished: The one that has finished last; None: none has.
    """

    folder: Storage
    begun: int | None
    finished: int | None

    @property
    def spark(self) -> Storage:
        """Spark's folder."""
        return self.folder.below("spark")


@dataclass(frozen=True, kw_only=True)
class ClockFiles(ClockFolder):
    """The same, as checks are given it.

    Attributes:
        sizes: Of its files, in bytes, by name.
    """

    sizes: Mapping[str, int]

    def numbers(self, folder: str) -> list[int]:
        """Return the micro-batches of which a folder of Spark's has files, in ascending order."""
        return sorted(int(name) for name in self.spark.below(folder).names() if name.isdigit())


def flaws(checkpoint: Storage, clock: str) -> list[Flaw]:
    """Find what is wrong with the checkpoint of a clock; of a run that has stopped.

    Args:
        checkpoint: The folder of all clocks.
        clock: One of them.
    """
    folder = checkpoint.below(clock)
    spark = folder.below("spark")
    files = ClockFiles(folder=folder, sizes=folder.sizes(), begun=last_begun(spark), finished=last_committed(spark))
    return [
        Flaw(f"{clock}/{flaw.place}", flaw.says, flaw.is_harmless)
        for check in CHECKS
        for flaw in _checked(check, files)
    ]


def _checked(check: Check, files: ClockFiles) -> Iterator[Flaw]:
    """What a check finds; what Spark has written in another form than it knows is a flaw, too."""
    try:
        yield from check(files)
    except OSError as error:
        yield Flaw("", f"cannot be read: {error}")
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        yield Flaw("spark", f"is not as Spark writes it: {type(error).__name__}: {error}")


def check_checksums(files: ClockFiles) -> Iterator[Flaw]:
    """Files of Spark are as they were written, as far as there are checksums beside them."""
    for name in damaged_files(files.folder, files.sizes):
        is_unread = is_of_another_attempt(files.spark, name.removeprefix("spark/"))
        remedy = "nobody reads it" if is_unread else "put it back from a copy"
        yield Flaw(name, f"is damaged: it differs from its checksum; {remedy}", is_harmless=is_unread)


def check_manifest(files: ClockFiles) -> Iterator[Flaw]:
    """The manifest can be read."""
    try:
        if read_manifest(files.folder) is None:
            yield Flaw(FILE, "is not there: the run was stopped before it began anything", is_harmless=True)
    except StreamshedError as error:
        yield Flaw(FILE, str(error))


def check_micro_batches(files: ClockFiles) -> Iterator[Flaw]:
    """Spark's offsets and commits fit together, and fit the manifest."""
    offsets, commits = files.numbers("offsets"), files.numbers("commits")
    if offsets and "metadata" not in files.spark.names():
        yield Flaw("spark/metadata", "is gone: Spark would begin another query, whose answers would be written again")
    for folder, numbers in (("offsets", offsets), ("commits", commits)):
        gaps = [after for before, after in pairwise(numbers) if after != before + 1]
        if gaps:
            yield Flaw(f"spark/{folder}/{gaps[0] - 1}", "is gone, though those before and after it are there")
    if files.finished is not None and files.finished not in offsets:
        yield Flaw(f"spark/offsets/{files.finished}", "is gone, though the micro-batch has finished")
    if files.begun is not None and files.begun > (-1 if files.finished is None else files.finished) + 1:
        yield Flaw(f"spark/commits/{files.begun - 1}", "is gone, though the next micro-batch has begun")
    manifest = _manifest(files)
    if manifest is not None and manifest.places.lines and files.finished in offsets:
        yield from _source_flaws(files, manifest, files.finished)


def _source_flaws(files: ClockFiles, manifest: Manifest, finished: int) -> Iterator[Flaw]:
    try:
        files_of(files.spark, finished, manifest.places)
    except SourceMismatchError as error:
        yield Flaw(f"spark/offsets/{finished}", str(error))


def check_partitions(files: ClockFiles) -> Iterator[Flaw]:
    """State has as many partitions as the manifest says."""
    manifest = _manifest(files)
    partitions = None if manifest is None else interrupted_repartitioning(files.spark, manifest.partitions)
    if partitions is not None:
        yield Flaw(
            "spark/state",
            f"is being moved to {partitions} partitions, which was interrupted: repeat streamshed checkpoint"
            f" repartition --partitions {partitions}",
        )


def check_state(files: ClockFiles) -> Iterator[Flaw]:
    """State that the next micro-batch reads is there."""
    if files.finished is not None:
        for place, lack in missing_state(files.spark, files.finished):
            yield Flaw(f"spark/{place}", lack)


def check_plans(files: ClockFiles) -> Iterator[Flaw]:
    """Plans can be read, and that of the micro-batch that finished last is there."""
    numbers = []
    for name in files.sizes:
        if (match := _PLAN.fullmatch(name)) is not None:
            numbers.append(int(match[1]))
            try:
                text = files.folder.read_sealed(name)
                PlanRow.from_json(text or "")
            except (DamagedFileError, ValueError, LookupError, TypeError) as error:
                yield Flaw(name, f"cannot be read: {error}; what was shed of open windows is not known without it")
    if files.finished is not None and files.finished not in numbers:
        yield Flaw(
            f"plans/{files.finished:012d}.json", "is gone: what was shed of open windows is not known without it"
        )
    latest = max(numbers, default=-1)
    # The next one may be planned ahead.
    if latest > (-1 if files.begun is None else files.begun) + 1:
        yield Flaw("spark/offsets", f"end with micro-batch {files.begun}, plans with {latest}: {_OLDER_COPY}")


_OLDER_COPY = "was the folder spark put back from an older copy?"


def check_journal(files: ClockFiles) -> Iterator[Flaw]:
    """The journal can be read, and tells of no micro-batch that Spark has not begun."""
    latest = -1
    for name in sorted(filter(_JOURNAL.fullmatch, files.sizes)):
        for number, line in enumerate(files.folder.read_lines(name), start=1):
            try:
                latest = max(latest, int(json.loads(line)["micro_batch_id"]))
            except (ValueError, LookupError, TypeError):
                yield Flaw(name, f"line {number} is damaged: that row of the journal is lost", is_harmless=True)
    if latest > (-1 if files.begun is None else files.begun):
        yield Flaw("spark/offsets", f"end with micro-batch {files.begun}, the journal with {latest}: {_OLDER_COPY}")


def check_learned(files: ClockFiles) -> Iterator[Flaw]:
    """What was learned or counted can be read."""
    for name, instead in _RENEWED.items():
        try:
            files.folder.read_sealed(name)
        except DamagedFileError as error:
            yield Flaw(name, f"{error}: {instead}", is_harmless=True)


def _manifest(files: ClockFiles) -> Manifest | None:
    try:
        return read_manifest(files.folder)
    except StreamshedError:
        return None


Check = Callable[[ClockFiles], Iterator[Flaw]]

CHECKS: tuple[Check, ...] = (
    check_checksums,
    check_manifest,
    check_micro_batches,
    check_partitions,
    check_state,
    check_plans,
    check_journal,
    check_learned,
)
"""In this order: what is damaged first, for it explains what follows."""
