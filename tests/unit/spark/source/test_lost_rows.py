"""Rows that a broker deleted are counted, by whatever it deleted when."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamshed.spark.checkpoint.checkpoint_reader import rows_by_offsets
from streamshed.spark.checkpoint.partition_offsets import PartitionOffsets
from streamshed.spark.checkpoint.source_places import SourcePlaces
from streamshed.spark.checkpoint.storage import Storage
from streamshed.spark.source.lost_rows import LostRows

PLACES = SourcePlaces(streams=(("packets",), ()), lines=(0, 1))


class Topic:
    """A topic in memory: what is before `earliest` has been deleted."""

    def __init__(self, *earliest: int) -> None:
        self.offsets: list[int] | None = list(earliest)

    def earliest(self, partitions: PartitionOffsets) -> PartitionOffsets | None:
        if self.offsets is None:
            return None
        return {name: {one: self.offsets[int(one)] for one in of} for name, of in partitions.items()}


def planned(storage: Storage, micro_batch_id: int, *until: int) -> None:
    """Write down up to where a micro-batch reads."""
    offsets = {"t": {str(partition): offset for partition, offset in enumerate(until)}}
    lines = ["v1", "{}", json.dumps(offsets), '{"offset": 1}']
    storage.write_text(f"offsets/{micro_batch_id}", "\n".join(lines))


@pytest.fixture
def storage(tmp_path: Path) -> Storage:
    checkpoint = Storage.at(str(tmp_path))
    checkpoint.write_text("sources/0/0", '\0v1\n{"t":{"0":0,"1":0}}')
    planned(checkpoint, 0, 10, 10)
    planned(checkpoint, 1, 30, 10)
    return checkpoint


def test_rows_deleted_before_a_micro_batch_are_lost_to_it(storage: Storage) -> None:
    lost = LostRows({"packets": Topic(17, 3)}, untold={})
    assert lost.coming(storage, 1, PLACES) == {"packets": 13 / 20}
    lost.finished(1, {"packets": 13})
    assert (lost.rows, lost.coming(storage, 1, PLACES)) == (7, {"packets": 13 / 20})


def test_of_a_micro_batch_whose_rows_are_all_deleted_nothing_is_there(storage: Storage) -> None:
    assert LostRows({"packets": Topic(30, 10)}).coming(storage, 1, PLACES) == {"packets": 0.0}


def test_the_first_micro_batch_begins_where_the_source_noted(storage: Storage) -> None:
    assert LostRows({"packets": Topic(4, 0)}).coming(storage, 0, PLACES) == {"packets": 16 / 20}


def test_topics_that_come_later_than_a_pattern_have_lost_nothing(storage: Storage) -> None:
    storage.write_text("sources/0/0", "\0v1\n{}")
    assert LostRows({"packets": Topic(4, 0)}).coming(storage, 0, PLACES) == {}
    assert rows_by_offsets(storage, 0, PLACES) == {0: 20}


def test_rows_deleted_while_a_micro_batch_reads_are_told_by_the_next(storage: Storage) -> None:
    topic = Topic(0, 0)
    lost = LostRows({"packets": topic})
    assert lost.coming(storage, 1, PLACES) == {}
    topic.offsets = [30, 10]
    lost.finished(1, {"packets": 12})
    planned(storage, 2, 31, 10)
    assert lost.coming(storage, 2, PLACES) == {"packets": 12 / 20}
    assert lost.rows == 8


def test_of_two_micro_batches_that_lack_rows_the_lesser_share_is_told(storage: Storage) -> None:
    """Of the first 5 of 20 rows are gone, 3 of them noticed later; of the second 1 of 2."""
    topic = Topic(12, 0)
    lost = LostRows({"packets": topic}, untold={})
    lost.coming(storage, 1, PLACES)
    topic.offsets = [31, 10]
    lost.finished(1, {"packets": 15})
    planned(storage, 2, 32, 10)
    assert lost.coming(storage, 2, PLACES) == {"packets": 0.5}
    assert lost.rows == 6


def test_offsets_that_no_row_has_are_not_lost(storage: Storage) -> None:
    """Transactions and compaction take offsets, too."""
    lost = LostRows({"packets": Topic(0, 0)})
    lost.coming(storage, 1, PLACES)
    lost.finished(1, {"packets": 12})
    assert lost.rows == 0


def test_rows_deleted_after_they_were_read_are_not_lost(storage: Storage) -> None:
    topic = Topic(0, 0)
    lost = LostRows({"packets": topic})
    lost.coming(storage, 1, PLACES)
    topic.offsets = [30, 10]
    lost.finished(1, {"packets": 20})
    assert lost.rows == 0


def test_what_a_micro_batch_of_an_earlier_process_lacks_the_next_one_tells(storage: Storage) -> None:
    lost = LostRows({"packets": Topic(17, 3)})
    lost.again(storage, 1, PLACES)
    planned(storage, 2, 31, 10)
    assert (lost.coming(storage, 2, PLACES), lost.rows) == ({"packets": 13 / 20}, 7)


def test_a_broker_that_is_silent_says_nothing(storage: Storage) -> None:
    topic = Topic()
    topic.offsets = None
    lost = LostRows({"packets": topic})
    assert lost.coming(storage, 1, PLACES) == {}
    lost.finished(1, {"packets": 20})


def test_what_was_deleted_before_a_hand_over_the_successor_tells(storage: Storage) -> None:
    topic = Topic(0, 0)
    before = LostRows({"packets": topic})
    before.coming(storage, 1, PLACES)
    topic.offsets = [30, 10]
    before.finished(1, {"packets": 12})
    assert before.untold == {"packets": 12 / 20}
    planned(storage, 2, 31, 10)
    after = LostRows({"packets": topic}, before.rows, before.untold)
    assert (after.coming(storage, 2, PLACES), after.rows) == ({"packets": 12 / 20}, 8)


def test_after_a_kill_what_is_gone_of_the_last_micro_batch_is_lost(storage: Storage) -> None:
    planned(storage, 2, 31, 10)
    planned(storage, 3, 33, 10)
    lost = LostRows({"packets": Topic(18, 10)})
    assert (lost.coming(storage, 2, PLACES), lost.rows) == ({"packets": 12 / 20}, 8)
    assert lost.coming(storage, 3, PLACES) == {}


def test_what_an_earlier_process_planned_it_had_told_of_before(storage: Storage) -> None:
    planned(storage, 2, 31, 10)
    planned(storage, 3, 33, 10)
    lost = LostRows({"packets": Topic(30, 10)})
    lost.again(storage, 2, PLACES)
    assert lost.coming(storage, 3, PLACES) == {}


@given(
    steps=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(0, 60), st.integers(0, 60)), min_size=1)
)
def test_as_many_are_lost_as_were_written_and_never_read(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[int, int, int, int]]
) -> None:
    """Simulated: in each step rows come, some are deleted, a micro-batch is planned, some are deleted, it reads."""
    storage = Storage.at(str(tmp_path_factory.mktemp("checkpoint")))
    storage.write_text("sources/0/0", '\0v1\n{"t":{"0":0}}')
    topic, end, read_until, read_rows = Topic(0), 0, 0, 0
    lost = LostRows({"packets": topic})
    for number, (come, waits, deleted_before, deleted_meanwhile) in enumerate(steps):
        assert topic.offsets is not None
        end += come
        until = max(read_until, end - waits)
        topic.offsets[0] = min(max(topic.offsets[0], deleted_before), end)
        planned_from, read_until = read_until, until
        storage.write_text(
            f"offsets/{number}", "\n".join(["v1", "{}", json.dumps({"t": {"0": until}}), '{"offset": 1}'])
        )
        lost.coming(storage, number, PLACES)
        topic.offsets[0] = min(max(topic.offsets[0], deleted_meanwhile), end)
        rows = max(0, until - max(planned_from, topic.offsets[0]))
        lost.finished(number, {"packets": rows})
        read_rows += rows
    assert lost.rows == read_until - read_rows


def test_offsets_of_other_sources_count_no_rows(tmp_path: Path) -> None:
    """Some are numbers alone; sources of ours begin at no rows."""
    (tmp_path / "offsets").mkdir()
    of_ours = json.dumps({"live.fares": {"0": 50}, ":place": {"snapshot": "7", "files": None, "whole": False}})
    (tmp_path / "offsets" / "0").write_text(f'v1\n{{}}\n1\n{{"offset":1}}\n{of_ours}')
    places = SourcePlaces(streams=(("numbers",), ("other",), ("fares",)), lines=(0, 1, 2))
    assert rows_by_offsets(Storage.at(str(tmp_path)), 0, places) == {2: 50}
