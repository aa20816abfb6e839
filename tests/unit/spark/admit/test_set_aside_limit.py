"""Rows that could not be read stay within their limit, and each is there or counted, wherever a run dies."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from streamshed.spark.admit import set_aside_limit
from streamshed.spark.admit.set_aside import SetAside
from streamshed.spark.admit.set_aside_limit import DELETED_FILE, DeletedRows, SetAsideLimit, deleted_rows
from streamshed.spark.checkpoint.storage import Storage
from tests.unit.deadly import Deadly, DiedError
from tests.unit.spark.admit.test_set_aside import texts_in, unreadable

QUERY = "a"
ROWS = (3, 1, 2, 2, 1, 4)
"""How many each micro-batch has set aside."""


class Clock:
    """The checkpoint of a clock, in which micro-batches set rows aside."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.location = str(path / "set_aside")
        self.folder = Storage.at(str(path))

    def limit(self, limit_bytes: int) -> SetAsideLimit:
        return SetAsideLimit(self.folder, self.location, limit_bytes)

    def put(self, number: int, count: int, query: str = QUERY) -> None:
        SetAside(self.location, query, number).put(0, unreadable(*(f"{number}.{row}" for row in range(count))))

    def run(self, limit: SetAsideLimit, numbers: Sequence[int]) -> None:
        for number in numbers:
            self.put(number, ROWS[number])
            limit.written(QUERY, number)

    @property
    def kept(self) -> list[str]:
        return texts_in(self.path / "set_aside" / f"query_id={QUERY}")

    @property
    def bytes_of_a_file(self) -> int:
        """The most that any takes."""
        return max(path.stat().st_size for path in (self.path / "set_aside").rglob("*.parquet"))


@pytest.fixture
def clock(tmp_path: Path) -> Clock:
    return Clock(tmp_path)


def all_of(*numbers: int) -> list[str]:
    return [f"{number}.{row}" for number in numbers for row in range(ROWS[number])]


def test_within_the_limit_all_stay(clock: Clock) -> None:
    clock.run(clock.limit(10**6), range(6))
    assert clock.kept == all_of(*range(6))
    assert deleted_rows(clock.folder) == DeletedRows()
    assert not (clock.path / DELETED_FILE).exists()


def test_beyond_it_the_oldest_go_and_are_counted(clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    clock.put(0, ROWS[0])
    limit = clock.limit(3 * clock.bytes_of_a_file)
    clock.run(limit, range(1, 6))
    assert clock.kept == all_of(3, 4, 5)
    assert deleted_rows(clock.folder) == DeletedRows(sum(ROWS[:3]), until=2)
    (told,) = [record.getMessage() for record in caplog.records]
    assert "the oldest rows in" in told


def test_those_of_the_latest_stay_in_any_case(clock: Clock) -> None:
    clock.run(clock.limit(1), range(3))
    assert clock.kept == all_of(2)


def test_many_micro_batches_are_too_much_however_few_their_rows(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(set_aside_limit, "MOST_MICRO_BATCHES", 2)
    clock.run(clock.limit(10**6), range(6))
    assert clock.kept == all_of(4, 5)


def test_a_smaller_limit_holds_from_the_next_rows_on(clock: Clock) -> None:
    clock.run(clock.limit(10**6), range(5))
    clock.run(clock.limit(2 * clock.bytes_of_a_file), [5])
    assert clock.kept == all_of(4, 5)
    assert deleted_rows(clock.folder).rows == sum(ROWS[:4])


def test_a_micro_batch_that_runs_again_counts_once(clock: Clock) -> None:
    limit = clock.limit(10**6)
    clock.run(limit, [0, 1, 1, 1])
    narrow = clock.limit(2 * clock.bytes_of_a_file)
    clock.run(narrow, [1, 1])
    assert clock.kept == all_of(0, 1)


def test_what_people_delete_is_not_missed(clock: Clock) -> None:
    clock.run(limit := clock.limit(1), [0])
    clock.folder.below(f"set_aside/query_id={QUERY}/micro_batch_id=0").delete_folder()
    clock.run(limit, [1])
    assert clock.kept == all_of(1)
    assert deleted_rows(clock.folder) == DeletedRows(0, until=0)


def test_other_queries_keep_theirs(clock: Clock) -> None:
    clock.put(0, 2, query="b")
    clock.run(clock.limit(1), range(2))
    assert texts_in(clock.path / "set_aside" / "query_id=b") == ["0.0", "0.1"]


def test_where_nothing_can_be_deleted_the_run_goes_on(
    clock: Clock, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refused(_storage: Storage) -> None:
        raise PermissionError("not yours")

    limit = clock.limit(1)
    with monkeypatch.context() as patch:
        patch.setattr(Storage, "delete_folder", refused)
        clock.run(limit, range(2))
    assert "not yours" in caplog.text
    clock.run(limit, [2])
    assert clock.kept == all_of(2)
    assert deleted_rows(clock.folder) == DeletedRows(sum(ROWS[:2]), until=1)


def test_a_damaged_count_is_begun_anew(clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    (clock.path / DELETED_FILE).write_text("{")
    clock.run(clock.limit(1), range(2))
    assert "counted anew" in caplog.text
    assert deleted_rows(clock.folder) == DeletedRows(ROWS[0], until=0)


@pytest.mark.parametrize("done", [False, True])
@pytest.mark.parametrize("fatal", range(9))
def test_wherever_it_dies_each_row_is_there_or_counted(
    clock: Clock, monkeypatch: pytest.MonkeyPatch, fatal: int, *, done: bool
) -> None:
    clock.put(0, ROWS[0])
    limit_bytes = 2 * clock.bytes_of_a_file
    number = 0
    with monkeypatch.context() as patch:
        deadly = Deadly(fatal, done=done)
        patch.setattr(Storage, "write_sealed", deadly(Storage.write_sealed))
        patch.setattr(Storage, "delete_folder", deadly(Storage.delete_folder))
        limit = clock.limit(limit_bytes)
        try:
            for number in range(6):
                clock.run(limit, [number])
        except DiedError:
            pass
        else:
            assert fatal >= 8, "it should have died"
    # The micro-batch runs again.
    clock.run(clock.limit(limit_bytes), range(number, 6))
    assert clock.kept == all_of(4, 5)
    assert deleted_rows(clock.folder) == DeletedRows(sum(ROWS[:4]), until=3)
