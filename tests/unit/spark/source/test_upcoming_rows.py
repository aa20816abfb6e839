"""What the footers of Parquet files tell of a micro-batch before it runs."""

from __future__ import annotations

import math
import shutil
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamshed.errors import SourceUnavailableError
from streamshed.network.model.declared_stream import stream
from streamshed.network.source.sources import folder
from streamshed.network.words.numbering import LARGEST_NUMBER, MICROSECONDS_PER_NUMBER
from streamshed.spark.checkpoint.source_places import SourcePlaces
from streamshed.spark.checkpoint.storage import Storage
from streamshed.spark.source.upcoming_rows import (
    EventBounds,
    RowSizes,
    StreamRows,
    refuse_lost,
    refuse_vanished,
    upcoming_rows,
)

TIMES = [datetime(2025, 5, 1, 0, 0, second, tzinfo=UTC) for second in (3, 1, 2)]
OTHERS = [datetime(2020, 1, 1, tzinfo=UTC)] * 3
PLACES = SourcePlaces(streams=(("packets",),), lines=(0,))
MICROSECONDS = pa.timestamp("us", "UTC")


def bounds_of(
    path: Path,
    table: pa.Table,
    *,
    time: str = "ts",
    now_seconds: float | None = None,
    row_group_size: int | None = None,
) -> EventBounds | None:
    """What is known of a micro-batch of one file."""
    incoming, checkpoint = path / "in", path / "checkpoint"
    incoming.mkdir(exist_ok=True)
    file = incoming / "0.parquet"
    pq.write_table(table, file, row_group_size=row_group_size)
    log = checkpoint / "sources" / "0"
    log.mkdir(parents=True)
    (log / "0").write_text(f'v1\n{{"path":"{file.as_uri()}","timestamp":1,"batchId":0}}')
    (checkpoint / "offsets").mkdir()
    (checkpoint / "offsets" / "0").write_text('v1\n{}\n{"logOffset":0}')
    packets = stream("packets", folder(incoming, "parquet"), time=time, max_ahead="1 day")
    found = upcoming_rows(Storage.at(str(checkpoint)), 0, [packets.stream], PLACES, RowSizes(), now_seconds)["packets"]
    assert found.rows == table.num_rows
    return found.events


def since_1970(first: int, last: int) -> EventBounds | None:
    """What counts of event times: rows before 1970 are set aside."""
    return None if last < 0 else EventBounds(max(first, 0), last)


def test_event_times_are_those_of_the_time_column(tmp_path: Path) -> None:
    expected = [int(time.timestamp()) * 1_000_000 for time in (min(TIMES), max(TIMES))]
    assert bounds_of(tmp_path, pa.table({"ts": pa.array(TIMES, MICROSECONDS)})) == EventBounds(*expected)


@pytest.mark.parametrize("name", ["ts", "TS"])
def test_a_field_of_that_name_inside_another_column_is_not_it(tmp_path: Path, name: str) -> None:
    inside = pa.StructArray.from_arrays([pa.array(OTHERS, MICROSECONDS)], [name])
    expected = [int(time.timestamp()) * 1_000_000 for time in (min(TIMES), max(TIMES))]
    table = pa.table({"meta": inside, "ts": pa.array(TIMES, MICROSECONDS)})
    assert bounds_of(tmp_path, table) == EventBounds(*expected)


NOW = datetime(2025, 5, 1, tzinfo=UTC)
FAR_AHEAD = datetime(2038, 1, 19, tzinfo=UTC)


@pytest.mark.parametrize("row_group_size", [1, 2, 100])
@pytest.mark.parametrize("kind", [MICROSECONDS, pa.timestamp("ms"), pa.timestamp("ns", "Europe/Berlin")])
def test_event_times_that_are_too_far_ahead_do_not_count(
    tmp_path: Path, row_group_size: int, kind: pa.DataType
) -> None:
    times = [TIMES[0], FAR_AHEAD, *TIMES[1:], FAR_AHEAD, NOW + timedelta(days=1)]
    values = [time if kind.tz else time.replace(tzinfo=None) for time in times]
    table = pa.table({"x": range(len(times)), "TS": pa.array(values, kind)})
    expected = [int(time.timestamp()) * 1_000_000 for time in (min(TIMES), times[-1])]
    known = {"now_seconds": NOW.timestamp(), "row_group_size": row_group_size}
    assert bounds_of(tmp_path, table, **known) == EventBounds(*expected)  # type: ignore[arg-type]


def test_of_a_file_that_is_all_too_far_ahead_no_event_times_are_known(tmp_path: Path) -> None:
    table = pa.table({"ts": pa.array([FAR_AHEAD, FAR_AHEAD], MICROSECONDS)})
    assert bounds_of(tmp_path, table, now_seconds=NOW.timestamp()) is None


def test_where_it_is_not_known_when_a_micro_batch_was_planned_all_event_times_count(tmp_path: Path) -> None:
    table = pa.table({"ts": pa.array([TIMES[0], FAR_AHEAD], MICROSECONDS)})
    expected = [int(time.timestamp()) * 1_000_000 for time in (TIMES[0], FAR_AHEAD)]
    assert bounds_of(tmp_path, table) == EventBounds(*expected)


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
@given(instants=st.lists(st.integers(-(2**63) + 1, 2**63 - 1), min_size=1, max_size=5))
def test_event_times_of_any_year_are_whole_microseconds(
    tmp_path_factory: pytest.TempPathFactory, unit: str, instants: list[int]
) -> None:
    """Times that a producer counted in the wrong unit are in years that Python's datetime does not reach."""
    table = pa.table({"ts": pa.array(instants, pa.int64()).cast(pa.timestamp(unit, "UTC"))})
    of_unit = {"ms": Fraction(1000), "us": Fraction(1), "ns": Fraction(1, 1000)}[unit]
    first, last = (math.floor(instant * of_unit) for instant in (min(instants), max(instants)))
    assert bounds_of(tmp_path_factory.mktemp("any"), table) == since_1970(first, last)


UNITS = {"timestamp_seconds": 1_000_000, "timestamp_millis": 1_000, "timestamp_micros": 1}


@pytest.mark.parametrize("function", UNITS)
@given(numbers=st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-(2**40), 2**40), min_size=1, max_size=5))
def test_event_times_that_are_counted_from_the_epoch_follow_from_numbers(
    tmp_path_factory: pytest.TempPathFactory, function: str, numbers: list[int]
) -> None:
    """Of numbers that are too large for an instant nothing is known, rather than something wrong."""
    table = pa.table({"N": pa.array(numbers, pa.int64())})
    events = bounds_of(tmp_path_factory.mktemp("any"), table, time=f"{function}(n)")
    instants = [number * UNITS[function] for number in numbers]
    beyond = max(map(abs, instants)) > LARGEST_NUMBER * MICROSECONDS_PER_NUMBER
    assert events == (None if beyond else since_1970(min(instants), max(instants)))


@pytest.mark.parametrize("row_group_size", [1, 2, 100])
@pytest.mark.parametrize("function", UNITS)
@pytest.mark.parametrize("kind", [pa.int64(), pa.int32()])
def test_numbers_that_are_too_far_ahead_do_not_count(
    tmp_path: Path, row_group_size: int, function: str, kind: pa.DataType
) -> None:
    unit, since = UNITS[function], 1_000_000_000
    numbers = [since + offset for offset in (3, 1_000_000_000, 1, 2, 86_400_000_000 // unit)]
    numbers = [min(number, 2**31 - 1) for number in numbers]
    furthest = since * unit + 86_400_000_000
    believed = [number * unit for number in numbers if number * unit <= furthest]
    table = pa.table({"n": pa.array(numbers, kind)})
    found = bounds_of(
        tmp_path, table, time=f"{function}(n)", now_seconds=since * unit / 1e6, row_group_size=row_group_size
    )
    assert found == EventBounds(min(believed), max(believed))


@pytest.mark.parametrize(
    ("time", "values"),
    [
        ("timestamp_millis(-n)", pa.array([1, 2], pa.int64())),
        ("timestamp_seconds(n % 2)", pa.array([1, 2], pa.int64())),
        ("timestamp_seconds(n)", pa.array([1.5, 2.5], pa.float64())),
        ("timestamp_seconds(n)", pa.array([1, 2**63 + 1], pa.uint64())),
        ("to_timestamp(n, 'yyyy')", pa.array(["2024", "2025"])),
        ("cast(n as timestamp)", pa.array([1, 2], pa.int64())),
    ],
)
def test_of_other_times_nothing_is_known_beforehand(tmp_path: Path, time: str, values: pa.Array) -> None:
    assert bounds_of(tmp_path, pa.table({"n": values}), time=time) is None


def test_a_file_that_is_written_anew_is_read_anew(tmp_path: Path) -> None:
    for number, times in enumerate([TIMES[:1], TIMES]):
        table = pa.table({"ts": pa.array(times, MICROSECONDS)})
        expected = [int(time.timestamp()) * 1_000_000 for time in (min(times), max(times))]
        assert bounds_of(tmp_path, table) == EventBounds(*expected), number
        shutil.rmtree(tmp_path / "checkpoint")


@pytest.mark.parametrize("kind", ["parquet", "json"])
def test_a_file_that_vanished_before_it_was_read_is_told(tmp_path: Path, kind: str) -> None:
    bounds_of(tmp_path, pa.table({"ts": pa.array(TIMES, MICROSECONDS)}))
    packets = stream("packets", folder(tmp_path / "in", kind, schema="ts timestamp"), time="ts")
    asked = Storage.at(str(tmp_path / "checkpoint")), 0, [packets.stream], PLACES, RowSizes(), None
    refuse_vanished(upcoming_rows(*asked))
    (tmp_path / "in" / "0.parquet").unlink()
    with pytest.raises(SourceUnavailableError, match=r'"packets": ".*/in/0.parquet" vanished before it was read'):
        refuse_vanished(upcoming_rows(*asked))


def test_fewer_rows_than_were_to_come_are_told() -> None:
    refuse_lost({"a": StreamRows(3, is_counted=True), "b": StreamRows(7)}, {"a": 3})
    refuse_lost({"a": StreamRows(3, is_counted=True)}, {"a": 6})
    with pytest.raises(SourceUnavailableError, match='stream "a": 3 rows were to come, and 2 were read'):
        refuse_lost({"a": StreamRows(3, is_counted=True)}, {"a": 2})
