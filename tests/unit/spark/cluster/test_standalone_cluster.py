import os
from pathlib import Path

import pytest

from streamshed.errors import JavaUnavailableError
from streamshed.spark.cluster import standalone_cluster as module
from streamshed.spark.cluster.standalone_cluster import standalone_cluster


def _pretended(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Let a shell script stand where Spark's programs are started."""
    program = folder / "bin" / "spark-class"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setattr(module, "_HOME", folder)
    monkeypatch.setattr(module, "require_java", lambda: None)


def test_a_master_that_does_not_start_is_an_error_with_what_it_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _pretended(tmp_path, monkeypatch, "echo no such class; exit 1")
    with (
        pytest.raises(JavaUnavailableError, match="its master does not start: no such class"),
        standalone_cluster(tmp_path / "cluster"),
    ):
        pass


def test_a_master_that_never_says_where_it_is_does_not_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _pretended(tmp_path, monkeypatch, f"echo $$ > {tmp_path}/pid; exec sleep 1000")
    monkeypatch.setattr(module, "_PATIENCE_SECONDS", 1.0)
    with pytest.raises(JavaUnavailableError, match="its master does not start"), standalone_cluster(tmp_path / "c"):
        pass
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)
