"""What a table of Iceberg has, and what was added to it since: file by file, along its snapshots."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from streamshed.errors import SourceUnavailableError
from streamshed.spark.checkpoint.partition_offsets import PLACE

if TYPE_CHECKING:
    from pyiceberg.manifest import ManifestEntry
    from pyiceberg.table import FileScanTask, Table
    from pyiceberg.table.snapshots import Snapshot

_ROWS = "0"
"""The only partition of a table."""

_CHANGES = ("deleted-data-files", "added-delete-files", "removed-delete-files")
"""Counts in the summary of a snapshot that changes or deletes rows, or that brings deleted ones back."""


@dataclass(frozen=True, slots=True)
class TablePosition:
    """Up to where a table has been read.

    Attributes:
        snapshot: The id of the last snapshot of which something is read; None: nothing is, of any.
        files: How many of its files are read; None: all.
        rows: How many rows are read in all.
        is_whole: Whether it is the first one, and all that the table had then is read; of others it is what they added.
    """

    snapshot: int | None = None
    files: int | None = None
    rows: int = 0
    is_whole: bool = False

    @classmethod
    def from_offset(cls, offset: Mapping[str, Any], table: str) -> TablePosition:
        """Return the position that an offset of `offset` is of."""
        place = offset[PLACE]
        snapshot = None if place["snapshot"] is None else int(place["snapshot"])
        return cls(snapshot, place["files"], offset[table][_ROWS], place["whole"])

    def offset(self, table: str) -> dict[str, Any]:
        """Return it as an offset of Spark's: rows by partition, as those of brokers, and the place.

        Args:
            table: Namespace and table.

        Example:
            >>> position = TablePosition(snapshot=7, files=2, rows=500)
            >>> position.offset("live.fares")
            {'live.fares': {'0': 500}, ':place': {'snapshot': '7', 'files': 2, 'whole': False}}
            >>> TablePosition.from_offset(position.offset("live.fares"), "live.fares") == position
            True
        """
        snapshot = None if self.snapshot is None else str(self.snapshot)
        return {
            table: {_ROWS: self.rows},
            PLACE: {"snapshot": snapshot, "files": self.files, "whole": self.is_whole},
        }


@dataclass(frozen=True)
class TableLog:
    """A table as it is now, and how it came to be.

    Attributes:
        table: Of PyIceberg.
        label: What it is called in messages.
        skips_changes: Whether snapshots that change or delete rows are passed over.
        files_by_snapshot: What has been read of its manifests, to which it adds.
    """

    table: Table
    label: str
    skips_changes: bool = False
    files_by_snapshot: MutableMapping[tuple[int, bool], list[FileScanTask]] = field(default_factory=dict)

    def reached(self, since: TablePosition, most_files: int | None) -> TablePosition:
        """Return the position after so many more files, or after all that there are.

        Args:
            since: Up to where it has been read.
            most_files: At least 1; None: all.

        Raises:
            SourceUnavailableError: What came after `since` is no longer there, or rows were changed or deleted.
        """
        position, taken = since, 0
        for snapshot in self._unread(since, self.table.current_snapshot()):
            if most_files is not None and taken >= most_files:
                break
            is_whole, before = _part(since, snapshot)
            files = self._files_of(snapshot, is_whole=is_whole)
            end = len(files) if most_files is None else min(len(files), before + most_files - taken)
            rows = position.rows + sum(task.file.record_count for task in files[before:end])
            is_done = end == len(files)
            position = TablePosition(
                snapshot.snapshot_id, None if is_done else end, rows, is_whole=is_whole and not is_done
            )
            taken += end - before
        return position

    def files(self, since: TablePosition, until: TablePosition) -> list[FileScanTask]:
        """Return the files between two positions, of which `reached` gave the second one for the first.

        Raises:
            SourceUnavailableError: They are no longer there.
        """
        if since == until:
            return []
        last = None if until.snapshot is None else self.table.snapshot_by_id(until.snapshot)
        if last is None:
            raise self._lost(until.snapshot)
        between: list[FileScanTask] = []
        for snapshot in self._unread(since, last):
            is_whole, before = _part(since, snapshot)
            end = until.files if snapshot is last else None
            between += self._files_of(snapshot, is_whole=is_whole)[before:end]
        return between

    def rows_by_now(self, since: TablePosition) -> int:
        """Return how many rows there will have been when all is read, by the summaries of what is not read yet.

        Args:
            since: Up to where it has been read.

        Raises:
            SourceUnavailableError: What came after `since` is no longer there.
        """
        rows = since.rows
        for snapshot in self._unread(since, self.table.current_snapshot()):
            is_whole, before = _part(since, snapshot)
            if before or is_whole:
                files = self._files_of(snapshot, is_whole=is_whole)
                rows += sum(task.file.record_count for task in files[before:])
            elif _adds(snapshot):
                rows += _count(snapshot, "added-records")
        return rows

    def _unread(self, since: TablePosition, last: Snapshot | None) -> list[Snapshot]:
        """The snapshots up to the last one of which something was not read, oldest first; at first only the last."""
        if since.snapshot is None:
            return [] if last is None else [last]
        unread: list[Snapshot] = []
        snapshot = last
        while snapshot is not None and snapshot.snapshot_id != since.snapshot:
            unread.append(snapshot)
            parent = snapshot.parent_snapshot_id
            if parent == since.snapshot and since.files is None:  # it may have expired
                return unread[::-1]
            snapshot = None if parent is None else self.table.snapshot_by_id(parent)
        if snapshot is None:
            raise self._lost(since.snapshot)
        if since.files is not None:
            unread.append(snapshot)
        return unread[::-1]

    def _files_of(self, snapshot: Snapshot, *, is_whole: bool) -> list[FileScanTask]:
        key = snapshot.snapshot_id, is_whole
        if key not in self.files_by_snapshot:
            files = self._all_files(snapshot) if is_whole else self._added_files(snapshot)
            self.files_by_snapshot[key] = files
        return self.files_by_snapshot[key]

    def _all_files(self, snapshot: Snapshot) -> list[FileScanTask]:
        """All files of a snapshot, in the order in which they were committed."""
        numbers = {entry.data_file.file_path: entry.sequence_number or 0 for entry in self._entries(snapshot)}
        files = self.table.scan(snapshot_id=snapshot.snapshot_id).plan_files()
        return sorted(files, key=lambda task: (numbers.get(task.file.file_path, 0), task.file.file_path))

    def _added_files(self, snapshot: Snapshot) -> list[FileScanTask]:
        from pyiceberg.manifest import DataFileContent, ManifestEntryStatus
        from pyiceberg.table import FileScanTask

        if not _adds(snapshot):
            if _changes(snapshot) and not self.skips_changes:
                raise self._changed(snapshot)
            return []
        files = [
            FileScanTask(entry.data_file)
            for entry in self._entries(snapshot, added_by=snapshot.snapshot_id)
            if entry.status is ManifestEntryStatus.ADDED
            and entry.snapshot_id in {snapshot.snapshot_id, None}
            and entry.data_file.content is DataFileContent.DATA
        ]
        return sorted(files, key=lambda task: task.file.file_path)

    def _entries(self, snapshot: Snapshot, *, added_by: int | None = None) -> Iterator[ManifestEntry]:
        """What the manifests of a snapshot list, or those that came with it."""
        for manifest in snapshot.manifests(self.table.io):
            if added_by in {manifest.added_snapshot_id, None}:
                yield from manifest.fetch_manifest_entry(self.table.io)

    def _changed(self, snapshot: Snapshot) -> SourceUnavailableError:
        return SourceUnavailableError(
            f"{self.label}: rows of the table were changed or deleted (snapshot {snapshot.snapshot_id}): with"
            " `skip_changes` of its source such snapshots are passed over, and what was answered stays; set it, and"
            " start again from the checkpoint"
        )

    def _lost(self, snapshot: int | None) -> SourceUnavailableError:
        return SourceUnavailableError(
            f"{self.label}: what came after snapshot {snapshot} is no longer in the history of the table: snapshots"
            " expired, or the table was rolled back or made anew; keep them longer than your longest downtime, and"
            " start with a new checkpoint"
        )


def _part(since: TablePosition, snapshot: Snapshot) -> tuple[bool, int]:
    """Whether all that a snapshot has is read or what it added, and how many of these files are read."""
    if since.snapshot is None:
        return True, 0
    is_at = snapshot.snapshot_id == since.snapshot
    return is_at and since.is_whole, (since.files or 0) if is_at else 0


def _adds(snapshot: Snapshot) -> bool:
    """Whether a snapshot adds rows and does nothing else."""
    operation = _operation(snapshot)
    return operation == "append" or (operation == "overwrite" and not _changes(snapshot))


def _changes(snapshot: Snapshot) -> bool:
    """Whether rows are not what they were before."""
    return _operation(snapshot) != "replace" and any(_count(snapshot, name) for name in _CHANGES)


def _operation(snapshot: Snapshot) -> str:
    return "append" if snapshot.summary is None else str(snapshot.summary.operation.value)


def _count(snapshot: Snapshot, name: str) -> int:
    return 0 if snapshot.summary is None else int(snapshot.summary.additional_properties.get(name, 0))
