"""Answers in a table of a real server of Postgres: typed, each once, whatever dies."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pytest

from streamshed.errors import InvalidNetworkError, MissingExtraError, ServerUnavailableError, SinkUnavailableError
from streamshed.spark.common.failures import may_pass
from streamshed.spark.sinks.postgres_rows import COLUMNS
from streamshed.spark.sinks.postgres_sink import PostgresSink, postgres_sink
from tests.postgres_server import PostgresServer, running_postgres
from tests.unit.spark.sinks.answers import answers


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with running_postgres() as server:
        yield server


@pytest.fixture
def sink(server: PostgresServer) -> PostgresSink:
    server.query("DROP TABLE IF EXISTS answers")
    sink = postgres_sink("answers", server.connection)
    sink.check()
    return sink


def test_a_missing_table_is_made_and_nothing_is_left_of_its_trial(server: PostgresServer, sink: PostgresSink) -> None:
    columns = server.query(
        "SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute"
        " WHERE attrelid = 'answers'::regclass AND attnum > 0 ORDER BY attnum"
    )
    assert [(name, kind.replace("timestamp with time zone", "timestamptz")) for name, kind in columns] == list(
        COLUMNS.items()
    )
    sink.check()
    assert server.query("SELECT count(*) FROM answers") == [(0,)]


def test_a_micro_batch_that_runs_again_leaves_each_answer_once(server: PostgresServer, sink: PostgresSink) -> None:
    sink.write_rows(answers({}, {"aggregate": "m"}, {"key": ["a", "b"]}), "a", 7)
    sink.write_rows(answers({"value": 4.0, "value_text": "4"}, {"aggregate": "m"}, {"key": ["a", "b"]}), "a", 7)
    rows = server.query("SELECT key, aggregate, value FROM answers ORDER BY 1, 2")
    assert rows == [(["a", None], "m", 3.0), (["a", None], "n", 4.0), (["a", "b"], "n", 3.0)]


def test_another_checkpoint_answers_in_the_same_place(server: PostgresServer, sink: PostgresSink) -> None:
    sink.write_rows(answers({}), "a", 7)
    sink.write_rows(answers({"value_text": None, "exact": False, "reason": "sampled"}), "b", 0)
    assert server.query("SELECT query_id, exact, value_numeric FROM answers") == [("b", False, None)]


def test_values_have_types(server: PostgresServer, sink: PostgresSink) -> None:
    digits = "12345678901234567890.123456789"
    sink.write_rows(answers({"value": float(digits), "value_text": digits}), "a", 7)
    ((numeric, seconds, first),) = server.query(
        "SELECT value_numeric, extract(microseconds FROM window_start), key ->> 0 FROM answers"
    )
    assert (numeric, seconds, first) == (Decimal(digits), 123456, "a")


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"value": float("nan"), "value_text": "NaN"}, (None, "NaN")),
        ({"value": None, "value_text": "12"}, (None, "12")),
        ({"value": 1.0, "value_text": "true"}, (None, "true")),
        ({"value": 1e300, "value_text": "1e+300"}, (Decimal("1e300"), "1e+300")),
        ({"value": None, "value_text": "a\0b"}, (None, "a\N{REPLACEMENT CHARACTER}b")),
    ],
)
def test_only_numbers_are_numeric(
    server: PostgresServer, sink: PostgresSink, change: dict[str, Any], expected: tuple[object, str]
) -> None:
    sink.write_rows(answers(change), "a", 7)
    assert server.query("SELECT value_numeric, value_text FROM answers") == [expected]


def test_keys_that_differ_in_what_postgres_cannot_store_stay_apart(server: PostgresServer, sink: PostgresSink) -> None:
    sink.write_rows(answers({"key": ["\0"]}, {"key": ["\N{REPLACEMENT CHARACTER}"]}, {"key": None}), "a", 7)
    assert server.query("SELECT count(*), count(key) FROM answers") == [(3, 2)]


def test_gaps_rows_and_late_rows_are_there_as_often_as_they_came(server: PostgresServer, sink: PostgresSink) -> None:
    gap = {"kind": "gap", "key": None, "aggregate": None, "value": None, "value_text": None, "reason": "overload"}
    row = {"kind": "row", "key": None, "aggregate": None, "value_text": '{"size": 5}'}
    late = {"kind": "late", "key": None, "aggregate": None, "value": 2.0}
    for micro_batch_id in (7, 7, 8):
        cohorts = {"value_text": '{"cohorts": [1], "of": 16}'}
        sink.write_rows(answers(gap, gap | cohorts, row, row, late), "a", micro_batch_id)
    counts = server.query("SELECT kind, count(*) FROM answers GROUP BY 1 ORDER BY 1")
    assert counts == [("gap", 2), ("late", 2), ("row", 4)]


def test_a_writer_that_is_killed_amid_its_transaction_leaves_nothing(
    server: PostgresServer, sink: PostgresSink
) -> None:
    """The tenth row waits for a lock that this test has, until the writer is dead."""
    server.query(
        "CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
        " IF NEW.aggregate = '10' THEN PERFORM pg_advisory_xact_lock(1); END IF; RETURN NEW; END $$"
    )
    server.query("CREATE TRIGGER hold BEFORE INSERT ON answers FOR EACH ROW EXECUTE FUNCTION hold()")
    program = (
        "from tests.unit.spark.sinks.test_postgres_sink import *\n"
        f"twenty = answers(*[{{'aggregate': str(number)}} for number in range(20)])\n"
        f"postgres_sink('answers', {server.connection!r}).write_rows(twenty, 'a', 7)\n"
    )
    with psycopg.connect(server.connection) as holder:
        holder.execute("SELECT pg_advisory_xact_lock(1)")
        with subprocess.Popen([sys.executable, "-c", program], cwd=Path(__file__).parents[4]) as writer:
            _until(server, "SELECT count(*) = 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")
            assert writer.poll() is None
            writer.send_signal(signal.SIGKILL)
        assert writer.returncode == -signal.SIGKILL
    _until(server, "SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name = 'streamshed'")
    assert server.query("SELECT count(*) FROM answers") == [(0,)]
    sink.write_rows(answers(*[{"aggregate": str(number)} for number in range(20)]), "a", 7)
    assert server.query("SELECT count(*), count(DISTINCT aggregate) FROM answers") == [(20, 20)]


def _until(server: PostgresServer, condition: str) -> None:
    while server.query(condition) != [(True,)]:
        time.sleep(0.02)


def test_a_server_that_is_away_is_waited_for(server: PostgresServer, sink: PostgresSink) -> None:
    server.kill()
    try:
        with pytest.raises(ServerUnavailableError, match='the sink postgres "answers": ') as raised:
            sink.write_rows(answers({}), "a", 7)
        with pytest.raises(SinkUnavailableError, match='the sink postgres "answers": '):
            sink.check()
    finally:
        server.start()
    as_spark_says = f"[FOREACH_BATCH_USER_FUNCTION_ERROR] x\n{ServerUnavailableError.__module__}.{raised.typename}: y"
    assert may_pass(RuntimeError(as_spark_says))
    sink.write_rows(answers({}), "a", 7)
    assert server.query("SELECT count(*) FROM answers") == [(1,)]


def test_what_the_table_does_not_take_is_no_passing_fault(server: PostgresServer, sink: PostgresSink) -> None:
    server.query("ALTER TABLE answers ADD CHECK (query <> 'q')")
    with pytest.raises(
        SinkUnavailableError, match=r'the sink postgres "answers": .*violates check constraint'
    ) as raised:
        sink.write_rows(answers({}), "a", 7)
    assert not may_pass(raised.value)


def test_a_table_of_the_user_may_have_more_columns(server: PostgresServer, sink: PostgresSink) -> None:
    server.query("ALTER TABLE answers ADD note text, ADD written_at timestamptz NOT NULL DEFAULT now()")
    sink.check()
    sink.write_rows(answers({}), "a", 7)
    assert server.query("SELECT note, written_at IS NULL FROM answers") == [(None, False)]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ("DROP COLUMN reason", 'column "reason" of relation "answers" does not exist'),
        ("ALTER value TYPE integer", "its column value gives back 0 for 0.123.*, it should be double precision"),
        ("ALTER window_start TYPE timestamp", "its column window_start gives back .*should be timestamptz"),
        ("ALTER key TYPE text", "its column key gives back .*should be jsonb"),
        ("DROP CONSTRAINT answers_pkey", "its column answer_id has no unique index"),
        ("ADD region text NOT NULL", 'null value in column "region"'),
    ],
)
def test_a_table_of_the_user_that_does_not_fit_is_refused(
    server: PostgresServer, sink: PostgresSink, change: str, says: str
) -> None:
    server.query(f"ALTER TABLE answers {change}")
    with pytest.raises(SinkUnavailableError, match=f'the sink postgres "answers": the table there.*: {says}.*; name'):
        sink.check()


def test_a_schema_that_is_not_there_is_refused(server: PostgresServer) -> None:
    with pytest.raises(SinkUnavailableError, match=r'the sink postgres "live.answers": schema "live" does not exist'):
        postgres_sink("live.answers", server.connection).check()


SECRET = "chameleon-57"


@pytest.fixture
def guarded(server: PostgresServer) -> Iterator[str]:
    """An account that has to give a password."""
    server.query(f"CREATE ROLE guarded LOGIN SUPERUSER PASSWORD '{SECRET}'")
    yield server.connection.replace("user=postgres", "user=guarded")
    server.query("DROP ROLE guarded")


@pytest.mark.usefixtures("sink")
def test_the_password_comes_from_the_environment_or_a_service(
    guarded: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink = postgres_sink("answers", guarded)
    with pytest.raises(SinkUnavailableError, match="no password supplied"):
        sink.check()
    monkeypatch.setenv("PGPASSWORD", SECRET)
    sink.check()
    assert SECRET not in repr(sink) + repr(vars(sink))
    monkeypatch.delenv("PGPASSWORD")
    service = tmp_path / "services"
    service.write_text("[live]\n" + "\n".join([*guarded.split(), f"password={SECRET}"]) + "\n")
    monkeypatch.setenv("PGSERVICEFILE", str(service))
    postgres_sink("answers", "service=live").check()


@pytest.mark.parametrize(
    "connection",
    [
        f"host=db password={SECRET}",
        f"PASSWORD = '{SECRET}' host=db",
        f"postgresql://streams:{SECRET}@db/flows",
        f"postgres://db/flows?user=streams&password={SECRET}",
        f"postgres://db/flows?%70assword={SECRET}",
        f"host=db sslpassword={SECRET}",
    ],
)
def test_a_password_in_the_connection_is_refused_and_not_repeated(connection: str) -> None:
    with pytest.raises(InvalidNetworkError, match="holds a password") as raised:
        postgres_sink("answers", connection)
    assert SECRET not in str(raised.value)


@pytest.mark.parametrize(
    "connection", ["host=db user=password", "postgresql://streams@db:5432/a", "passfile=/etc/pass"]
)
def test_a_connection_without_a_password_is_taken(connection: str) -> None:
    assert postgres_sink("live.answers", connection).connection == connection


@pytest.mark.parametrize(
    ("table", "connection", "says"),
    [
        ("", "", "a table of Postgres is"),
        ("a.b.c", "", "got 'a.b.c'"),
        ('answers"; DROP TABLE x', "", "got 'answers"),
        (5, "", "got table 5"),
        ("answers", 5, "a sink of Postgres is a table and how its server is reached"),
    ],
)
def test_a_sink_is_a_table_and_a_connection(table: Any, connection: Any, says: str) -> None:
    with pytest.raises(InvalidNetworkError, match=says):
        postgres_sink(table, connection)


def test_without_the_package_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'streamshed\[postgres\]'"):
        postgres_sink("answers").check()
