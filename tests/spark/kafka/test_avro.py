"""Records of Avro in a topic of a real broker: their schema changes, some are broken, and the registry goes away."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from streamshed.columnar.avro_values import NO_AVRO, NO_FRAME, UNKNOWN_SCHEMA
from streamshed.spark.admit.parsed_rows import NO_TEXT
from tests.spark.kafka.avro_course import BAD_VALUES, SCHEMAS, rows_of
from tests.thoroughness import thorough

_ROOT = Path(__file__).parents[3]
pytestmark = thorough


@pytest.fixture(scope="module")
def outcome(servers: str, tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("avro")
    command = [sys.executable, "-m", "tests.spark.kafka.avro_course", str(folder), servers]
    with (folder / "log").open("w") as log:
        done = subprocess.run(command, stdout=log, stderr=log, check=False, cwd=_ROOT, env=os.environ)
    assert done.returncode == 0, (folder / "log").read_text()[-3000:]
    return json.loads((folder / "outcome.json").read_text())


def _exact(steps: int) -> dict[tuple[str, str, str], float | None]:
    """What DuckDB says of some steps: the start of a window, name and aggregate, and the answer."""
    rows = [
        {"ts": row["ts"].timestamp(), "name": row["host"]["name"], "size": row["size"]}
        for step in range(steps)
        for row in rows_of(step)
    ]
    with duckdb.connect() as database:
        database.register("fares", pa.Table.from_pylist(rows))
        expected = database.execute(
            "SELECT floor(ts / 10) * 10, name, count(*), sum(size) FROM fares GROUP BY ALL"
        ).fetchall()
    return {
        (datetime.fromtimestamp(start, UTC).isoformat(), name, aggregate): value
        for start, name, count, total in expected
        for aggregate, value in (("n", count), ("total", total))
    }


@pytest.mark.parametrize(("which", "steps"), [("answers", len(SCHEMAS)), ("of_folder", 2)])
def test_answers_are_what_duckdb_says(outcome: Any, which: str, steps: int) -> None:
    got = {(start, key, aggregate): value for start, key, aggregate, value in outcome[which]}
    assert len(got) == len(outcome[which])
    assert got == _exact(steps)
    assert outcome["drained"]


def test_what_cannot_be_read_is_set_aside_once_with_the_reason(outcome: Any) -> None:
    reasons = Counter[str]()
    for reason, rows in outcome["aside"]:
        reasons[reason] += rows
    assert reasons == {NO_TEXT: 1, NO_FRAME: 2, UNKNOWN_SCHEMA: 1, NO_AVRO: 2}
    assert outcome["unreadable_rows"] == len(BAD_VALUES) == reasons.total()


def test_a_registry_that_is_away_is_waited_for(outcome: Any) -> None:
    assert "schema registry http://127.0.0.1:" in outcome["waits_for"]
    assert "does not answer" in outcome["waits_for"]


def test_the_registry_is_not_asked_for_each_value(outcome: Any) -> None:
    lookups = Counter(path for path in outcome["requests"] if path.startswith("/schemas/ids/"))
    processes = os.cpu_count() or 1
    # Python workers that are started again ask again.
    assert max(lookups.values()) <= 10 * processes
