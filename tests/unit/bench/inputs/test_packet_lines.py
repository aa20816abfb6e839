import json
from pathlib import Path

import pyarrow.parquet as pq

from streamshed.traces.packets import PACKET_SCHEMA, PacketTraffic, generate_packets
from streamshed_bench.inputs.packet_lines import written_as_lines


def test_each_row_becomes_a_line(tmp_path: Path) -> None:
    packets = generate_packets(PacketTraffic(rows_per_second=100, span_seconds=1))
    more = packets.append_column("more", [[0] * packets.num_rows])
    for name in ("b", "a"):
        pq.write_table(more, tmp_path / f"{name}.parquet")
    shares: list[float] = []
    parquet = [tmp_path / "b.parquet", tmp_path / "a.parquet"]
    files = written_as_lines(parquet, tmp_path / "lines", progress=shares.append)
    assert [file.name for file in files] == ["b.json", "a.json"]
    assert shares == [0.5, 1.0]
    rows = [json.loads(line) for line in files[0].read_text().splitlines()]
    assert len(rows) == packets.num_rows
    assert list(rows[0]) == PACKET_SCHEMA.names
    first = packets.slice(0, 1).to_pylist()[0]
    assert rows[0] == {**first, "ts": first["ts"].strftime("%Y-%m-%dT%H:%M:%S.%fZ")}
