import importlib
import os
from pathlib import Path

import pytest

from streamshed.errors import JavaUnavailableError
from streamshed_bench import BENCHMARKS, MODULES, BenchOptions

OF_RECORDINGS = {"coverage", "large_values", "counted_rows"}
WITHOUT_SPARK = {"joins", "planning", "prediction", "simulate"}


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
