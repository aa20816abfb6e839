from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from streamshed.errors import SourceUnavailableError
from streamshed.traces.errors import InvalidTraceError
from streamshed.traces.trace import TIME_TYPE, Trace, read_trace, trace_of
from tests.unit.traces.small_trace import START, small_table, small_trace


def test_a_trace_is_read_as_it_was_written(tmp_path: Path) -> None:
    table = small_table([0, 5, 7])
    pq.write_table(table, tmp_path / "trace.parquet")
    trace = read_trace(tmp_path / "trace.parquet")
    assert trace.table.to_pylist() == table.to_pylist()
    assert trace.start_microseconds == START


def test_strings_that_repeat_are_held_as_dictionaries() -> None:
    table = pa.table(
        {"ts": pa.array(range(100), TIME_TYPE), "host": ["a", "b"] * 50, "uid": list(map(str, range(100)))}
    )
    types = {field.name: field.type for field in trace_of(table).table.schema}
    assert pa.types.is_dictionary(types["host"])
    assert pa.types.is_string(types["uid"])


def test_a_folder_is_read_in_the_order_of_names(tmp_path: Path) -> None:
    for name, times in (("b", [9]), ("a", [0, 4])):
        pq.write_table(small_table(times), tmp_path / f"{name}.parquet")
    assert np.diff(read_trace(tmp_path).times).tolist() == [4, 5]


@pytest.mark.parametrize("kind", [pa.timestamp("ns"), pa.timestamp("ms", "Europe/Berlin"), pa.timestamp("us")])
def test_any_timestamp_becomes_utc_microseconds(kind: pa.DataType) -> None:
    table = pa.table({"at": pa.array([1_000_000_000], pa.int64()).cast(pa.timestamp("ns")).cast(kind, safe=False)})
    trace = trace_of(table, time="at")
    assert trace.table.schema.field("at").type == TIME_TYPE
    assert trace.times.tolist() == [1_000_000]


def test_a_missing_file_is_named_with_a_near_miss(tmp_path: Path) -> None:
    pq.write_table(small_table([0]), tmp_path / "packets.parquet")
    with pytest.raises(SourceUnavailableError, match=r'pakets.parquet: no such file \(did you mean "packets'):
        read_trace(tmp_path / "pakets.parquet")
    with pytest.raises(SourceUnavailableError, match=r"no such file$"):
        read_trace(tmp_path / "absent" / "packets.parquet")


def test_what_is_not_parquet_is_refused(tmp_path: Path) -> None:
    (tmp_path / "trace.parquet").write_text("ts,size")
    with pytest.raises(SourceUnavailableError, match="cannot be read as Parquet"):
        read_trace(tmp_path / "trace.parquet")


def test_a_folder_without_parquet_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceUnavailableError, match=r"holds no \*.parquet"):
        read_trace(tmp_path)


def test_a_missing_time_column_is_named_with_what_there_is(tmp_path: Path) -> None:
    pq.write_table(small_table([0]), tmp_path / "trace.parquet")
    with pytest.raises(InvalidTraceError, match=r"trace.parquet: no column 'tss' \(did you mean \"ts\"\?\)"):
        read_trace(tmp_path / "trace.parquet", time="tss")
    with pytest.raises(InvalidTraceError, match="no column 'happened'; its columns of times: ts"):
        read_trace(tmp_path / "trace.parquet", time="happened")


def test_a_time_column_must_hold_times() -> None:
    with pytest.raises(InvalidTraceError, match="'number' must be a timestamp, got int32"):
        trace_of(small_table([0]), time="number")
    with pytest.raises(InvalidTraceError, match="no rows"):
        small_trace([])
    with pytest.raises(InvalidTraceError, match="only nulls"):
        small_trace([None, None])
    with pytest.raises(InvalidTraceError, match="must be timestamp"):
        Trace(table=pa.table({"ts": pa.array([1], pa.timestamp("s"))}), time="ts")


def test_positions_follow_arrival_where_times_are_out_of_order_or_missing() -> None:
    trace = small_trace([None, 100, 300, 200, None, 400])
    assert (trace.times - START).tolist() == [100, 100, 300, 200, 200, 400]
    assert trace.positions.tolist() == [0, 0, 200, 200, 200, 300]


def test_the_next_pass_begins_one_mean_gap_after_the_last_row() -> None:
    trace = small_trace([0, 100, 400])
    assert trace.period_microseconds == 600
    assert trace.rows_per_second == pytest.approx(5000)


@pytest.mark.parametrize("times", [[7], [7, 7, 7]])
def test_a_trace_without_span_takes_a_second(times: list[int]) -> None:
    assert small_trace(times).period_microseconds == 1_000_000
    assert small_trace(times).rows_per_second == len(times)
