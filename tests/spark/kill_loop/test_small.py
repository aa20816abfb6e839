"""The kill loop itself, with one kill at any moment."""

from __future__ import annotations

import secrets
from pathlib import Path

import pytest

from tests.spark.kill_loop.loop import killed


def test_nothing_is_lost_doubled_or_changed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    seed = secrets.randbelow(2**31)
    with capsys.disabled():
        judged = killed(tmp_path, 1, seed, until_calm=False)
    assert not judged.violations, f"seed {seed}"
