"""Positions along the snapshots of a table of Iceberg: whatever is done to it, each row that is added is read once."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyiceberg.table import FileScanTask, Table

from streamshed.errors import SourceUnavailableError
from streamshed.spark.checkpoint.partition_offsets import partition_offsets
from streamshed.spark.source.iceberg_log import TableLog, TablePosition
from tests.iceberg_lake import IcebergLake
from tests.thoroughness import examples

NAME = "live.numbers"
NUMBERS = pa.schema([("number", pa.int64())])


class Numbers:
    """A table of ascending numbers, and the files that were added to it."""

    def __init__(self, folder: Path) -> None:
        self._lake = IcebergLake(folder)
        self.next = 0
        with self._lake.catalog as catalog:
            catalog.create_namespace_if_not_exists("live")
            catalog.create_table(NAME, NUMBERS)

    @property
    def table(self) -> Table:
        """As it is now."""
        return self._lake.table(NAME)

    def add(self, rows: int) -> None:
        """Append so many numbers."""
        self.table.append(pa.table([pa.array(range(self.next, self.next + rows), pa.int64())], schema=NUMBERS))
        self.next += rows

    def delete_below(self, number: int) -> None:
        """Delete numbers."""
        self.table.delete(f"number < {number}")

    def expire(self) -> None:
        """Leave the last snapshot alone."""
        self.table.maintenance.expire_snapshots().older_than(datetime.now() + timedelta(days=1)).commit()  # noqa: DTZ005

    def log(self, *, skips_changes: bool = False) -> TableLog:
        """How it came to be."""
        return TableLog(self.table, 'iceberg "live.numbers"', skips_changes)


def numbers_in(files: list[FileScanTask]) -> list[int]:
    """The numbers in some files, in order of the files."""
    return [number for task in files for number in pq.read_table(task.file.file_path)["number"].to_pylist()]


def read(table: Numbers, position: TablePosition, most_files: int | None, **how: bool) -> Iterator[TablePosition]:
    """Positions until all is read, each through the offset that Spark would have written."""
    while (until := table.log(**how).reached(position, most_files)) != position:
        position = TablePosition.from_offset(json.loads(json.dumps(until.offset(NAME))), NAME)
        yield position


@examples(15)
@given(
    before=st.lists(st.integers(1, 4), max_size=3),
    later=st.lists(st.integers(1, 4) | st.just("delete"), max_size=4),
    most_files=st.integers(1, 3) | st.none(),
)
def test_each_row_is_read_once_and_in_order(
    tmp_path_factory: pytest.TempPathFactory, before: list[int], later: list[int | str], most_files: int | None
) -> None:
    table = Numbers(tmp_path_factory.mktemp("lake"))
    for rows in before:
        table.add(rows)
    positions = [TablePosition(), *read(table, TablePosition(), most_files)]
    deleted = 0
    for step in later:
        if isinstance(step, int):
            table.add(step)
        elif deleted < table.next and positions[-1].snapshot is not None:
            table.delete_below(deleted := deleted + 1)
    expected = table.log(skips_changes=True).rows_by_now(positions[-1])
    positions += read(table, positions[-1], most_files, skips_changes=True)
    log = table.log(skips_changes=True)
    pairs = list(pairwise(positions))
    if later.count("delete") == 0:
        assert [number for pair in pairs for number in numbers_in(log.files(*pair))] == list(range(table.next))
    assert positions[-1].rows == table.next == expected
    assert all(len(log.files(*pair)) <= (most_files or table.next) for pair in pairs)
    assert all(
        sum(task.file.record_count for task in log.files(*pair)) == pair[1].rows - pair[0].rows for pair in pairs
    )


def test_rows_that_were_there_at_first_are_read_without_those_deleted_before(tmp_path: Path) -> None:
    table = Numbers(tmp_path)
    table.add(5)
    table.delete_below(3)
    log = table.log()
    assert numbers_in(log.files(TablePosition(), log.reached(TablePosition(), None))) == [3, 4]


def test_changes_end_the_reading_unless_they_are_passed_over(tmp_path: Path) -> None:
    table = Numbers(tmp_path)
    table.add(5)
    since = table.log().reached(TablePosition(), None)
    table.delete_below(3)
    with pytest.raises(SourceUnavailableError, match=r"were changed or deleted \(snapshot \d+\): with `skip_changes`"):
        table.log().reached(since, None)
    table.add(2)
    log = table.log(skips_changes=True)
    until = log.reached(since, None)
    assert numbers_in(log.files(since, until)) == [5, 6]
    assert until.rows == 7


def test_snapshots_that_are_read_may_expire_and_others_not(tmp_path: Path) -> None:
    table = Numbers(tmp_path)
    table.add(5)
    table.add(2)
    position = table.log().reached(TablePosition(), None)
    table.expire()
    table.add(1)
    log = table.log()
    assert numbers_in(log.files(position, log.reached(position, None))) == [7]
    table.add(1)
    table.expire()
    with pytest.raises(SourceUnavailableError, match=f"what came after snapshot {position.snapshot} is no longer"):
        table.log().reached(position, None)


def test_of_a_snapshot_of_which_files_are_left_all_must_be_there(tmp_path: Path) -> None:
    table = Numbers(tmp_path)
    table.add(5)
    table.add(5)
    half = table.log().reached(TablePosition(), 1)
    assert (half.files, half.rows, half.is_whole) == (1, 5, True)
    table.add(2)
    assert table.log().rows_by_now(half) == 12
    table.expire()
    with pytest.raises(SourceUnavailableError, match="is no longer in the history"):
        table.log().reached(half, 1)
    with pytest.raises(SourceUnavailableError, match="is no longer in the history"):
        table.log().files(TablePosition(), half)


def test_a_table_without_snapshots_has_nothing_yet(tmp_path: Path) -> None:
    table = Numbers(tmp_path)
    assert table.log().reached(TablePosition(), 5) == TablePosition()
    assert table.log().files(TablePosition(), TablePosition()) == []
    assert table.log().rows_by_now(TablePosition()) == 0


def test_offsets_count_rows_as_those_of_brokers_do() -> None:
    assert partition_offsets(TablePosition(7, 2, 500).offset(NAME)) == {NAME: {"0": 500}}
    assert partition_offsets(TablePosition().offset(NAME)) == {NAME: {"0": 0}}


def test_files_go_to_tasks(tmp_path: Path) -> None:
    table = Numbers(tmp_path)
    table.add(3)
    log = table.log()
    files = log.files(TablePosition(), log.reached(TablePosition(), None))
    assert numbers_in(pickle.loads(pickle.dumps(files))) == [0, 1, 2]
