from pathlib import Path

import pytest

from streamshed.errors import JavaUnavailableError
from streamshed.spark import standalone_cluster as module
from streamshed.spark.standalone_cluster import standalone_cluster


def test_a_master_that_does_not_start_is_an_error_with_what_it_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "bin" / "spark-class"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho no such class\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setattr(module, "_HOME", tmp_path)
    monkeypatch.setattr(module, "require_java", lambda: None)
    with (
        pytest.raises(JavaUnavailableError, match="its master does not start: no such class"),
        standalone_cluster(tmp_path / "cluster"),
    ):
        pass
