from itertools import pairwise
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from streamshed.errors import SourceUnavailableError
from streamshed.traces.packets import PACKET_SCHEMA, PacketTraffic, generate_packets
from streamshed.traces.trace import read_trace
from streamshed_bench.contract import BenchOptions
from streamshed_bench.inputs.packet_input import linked, packet_trace, stage_typed


def test_packets_are_generated_where_no_trace_is_given() -> None:
    packets = packet_trace(BenchOptions(seed=3))
    assert packets.table.column_names == PACKET_SCHEMA.names
    assert packets.table.equals(packet_trace(BenchOptions(seed=3)).table)
    assert not packets.table.equals(packet_trace(BenchOptions(seed=4)).table)


def test_a_trace_of_the_user_is_taken(tmp_path: Path) -> None:
    file = tmp_path / "own.parquet"
    packets = generate_packets(PacketTraffic(rows_per_second=100, span_seconds=5))
    pq.write_table(packets, file)
    assert packet_trace(BenchOptions(trace=str(file))).rows == packets.num_rows


def test_a_missing_trace_is_said(tmp_path: Path) -> None:
    with pytest.raises(SourceUnavailableError, match="no such file"):
        packet_trace(BenchOptions(trace=str(tmp_path / "none.parquet")))


def test_staged_files_follow_one_another_in_event_time(tmp_path: Path) -> None:
    file = tmp_path / "own.parquet"
    pq.write_table(generate_packets(PacketTraffic(rows_per_second=1000, span_seconds=3)), file)
    shares: list[float] = []
    files = stage_typed(read_trace(file), tmp_path / "work", files=4, rows_per_file=50_000, progress=shares.append)
    times = [pq.read_table(staged).column("ts") for staged in files]
    assert [len(column) for column in times] == [50_000] * 4
    spans = [(column[0].as_py(), column[-1].as_py()) for column in times]
    assert all(early[1] < late[0] for early, late in pairwise(spans))
    assert (spans[-1][1] - spans[0][0]).total_seconds() == pytest.approx(2.0, abs=0.01)
    assert shares[-1] == 1.0


def test_linked_files_are_seen_in_their_order(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("b", "a", "c")]
    for file in files:
        file.touch()
    folder = linked(files, tmp_path / "watched")
    seen = sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime_ns)
    assert [path.name for path in seen] == ["b", "a", "c"]
