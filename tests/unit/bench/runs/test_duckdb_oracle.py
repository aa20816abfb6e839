import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from streamshed.errors import MissingExtraError
from streamshed.traces.packets import PACKET_SCHEMA
from streamshed_bench.inputs.known_hosts import KNOWN_HOSTS, write_known_hosts
from streamshed_bench.inputs.packet_lines import written_as_lines
from streamshed_bench.inputs.workload import SEVEN_QUERIES
from streamshed_bench.runs.duckdb_oracle import DuckDB

START = datetime(2025, 1, 1, tzinfo=UTC)
SECOND = int(START.timestamp())


@pytest.fixture
def duckdb() -> Iterator[DuckDB]:
    pytest.importorskip("duckdb")
    opened = DuckDB(threads=1)
    yield opened
    opened.close()


def write_packets(path: Path, rows: list[tuple[float, str, int, int, int]]) -> Path:
    table = pa.Table.from_pylist(
        [
            {
                "ts": START + timedelta(seconds=seconds),
                "src_host": host,
                "dest_host": "10.9.9.9",
                "src_port": 2000,
                "dest_port": port,
                "size": size,
                "proto": proto,
            }
            for seconds, host, port, size, proto in rows
        ],
        schema=PACKET_SCHEMA,
    )
    pq.write_table(table, path)
    return path


def test_windows_are_put_together_from_slices(duckdb: DuckDB, tmp_path: Path) -> None:
    known = KNOWN_HOSTS[0]
    files = [
        write_packets(tmp_path / "a.parquet", [(0.0, known, 443, 100, 6), (9.999999, "unknown", 80, 1500, 6)]),
        write_packets(tmp_path / "b.parquet", [(10.0, known, 22, 2000, 6), (65.0, "unknown", 53, -1, 17)]),
    ]
    answers = duckdb.answers(files, SEVEN_QUERIES, write_known_hosts(tmp_path / "hosts.parquet"))
    assert answers["tcp_traffic", "packets", SECOND + 10] == 2
    assert answers["tcp_traffic", "bytes", SECOND + 20] == 3600
    assert answers["tcp_traffic", "packets", SECOND + 70] == 1
    assert answers["web_traffic", "bytes", SECOND + 70] == 1600
    assert answers["dns_packets", "packets", SECOND + 70] == 1
    assert answers["known_hosts_bytes", "bytes", SECOND + 70] == 2100
    assert answers["known_hosts_uploads", "packets", SECOND + 20] == 1
    assert answers["large_packets", "bytes", SECOND + 20] == 3500
    assert ("known_hosts_uploads", "bytes", SECOND + 10) not in answers


def test_lines_of_json_have_the_same_answers(duckdb: DuckDB, tmp_path: Path) -> None:
    packets = write_packets(
        tmp_path / "a.parquet", [(0.0, KNOWN_HOSTS[0], 443, 100, 6), (9.999999, "unknown", 80, 1500, 6)]
    )
    hosts = write_known_hosts(tmp_path / "hosts.parquet")
    lines = written_as_lines([packets], tmp_path / "lines")
    answers = duckdb.answers(lines, SEVEN_QUERIES, hosts)
    assert answers["tcp_traffic", "bytes", SECOND + 10] == 1600
    assert answers == duckdb.answers([packets], SEVEN_QUERIES, hosts)


def test_a_missing_duckdb_is_said_before_anything_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(MissingExtraError, match="pip install duckdb"):
        DuckDB(threads=2)
