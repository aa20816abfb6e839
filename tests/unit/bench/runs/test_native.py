from streamshed_bench.inputs.workload import SEVEN_QUERIES, packet_queries
from streamshed_bench.runs.native import micro_batch_of, native_sql
from tests.unit.bench.measurements import ran


def test_a_query_over_known_senders_asks_the_relation() -> None:
    asking = [query.name for query in SEVEN_QUERIES if "native_hosts" in native_sql(query)]
    assert asking == ["known_hosts_bytes", "known_hosts_uploads"]


def test_no_two_queries_are_written_alike() -> None:
    assert len({native_sql(query) for query in packet_queries(700)}) == 700


def test_the_time_column_is_that_of_the_stream() -> None:
    assert "window(timestamp, '60 seconds', '10 seconds')" in native_sql(packet_queries(1)[0], time_column="timestamp")


def test_a_report_without_execution_took_no_time() -> None:
    progress = {"timestamp": "1970-01-01T00:01:00.000Z", "numInputRows": 0, "durationMs": {}}
    assert micro_batch_of(progress) == ran(0, 0.0, started=60.0)
