import importlib
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from streamshed.errors import JavaUnavailableError
from streamshed_bench import BENCHMARKS, MODULES, BenchOptions
from streamshed_bench.runs.workplace import bench_session

OF_RECORDINGS = {"coverage", "large_values", "counted_rows"}
WITHOUT_SPARK = {"blocks", "joins", "planning", "prediction", "simulate"}


@pytest.mark.parametrize("name", sorted({*BENCHMARKS} - OF_RECORDINGS - WITHOUT_SPARK))
def test_java_is_looked_for_before_anything_is_staged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("JAVA_HOME", os.fspath(tmp_path))
    module = importlib.import_module(MODULES[name])
    # One that makes no packets stages other rows later still, in its workplace.
    monkeypatch.setattr(module, "packet_trace", lambda _options: pytest.fail("packets were made"), raising=False)
    with pytest.raises(JavaUnavailableError, match="no Java found"):
        BENCHMARKS[name](BenchOptions(quick=True))


def test_java_is_started_with_what_a_session_asks_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Classes of jars that a session names later are not found by who asks Java for them."""
    started: dict[str, Any] = {}
    session: Any = SimpleNamespace(stop=lambda: None)
    monkeypatch.setattr("streamshed.spark.cluster.java_process.start_quietly", lambda **asked: started.update(asked))
    monkeypatch.setattr("streamshed.spark.local_session", lambda *_, **__: session)
    with bench_session("kafka", options={"spark.jars": "a.jar"}) as spark:
        assert spark is session
    assert started["options"] == {"spark.jars": "a.jar"}
