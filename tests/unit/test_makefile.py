import os
import shutil
import subprocess

from tests.unit.documentation import ROOT


def commands_of(*arguments: str) -> str:
    make = shutil.which("make")
    assert make is not None, "it runs these tests"
    told = subprocess.run([make, "--dry-run", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    return " ".join(told.stdout.split())


def test_benchmarks_replay_the_trace_that_was_named() -> None:
    assert "bench $name --quick --trace 'my packets.parquet' --json" in commands_of(
        "bench", "QUICK=1", "TRACE=my packets.parquet"
    )


def test_without_one_they_make_their_own() -> None:
    assert "bench $name --json" in commands_of("bench")


def test_scripts_can_be_run_as_the_documents_run_them() -> None:
    scripts = [path for path in (ROOT / "scripts").iterdir() if path.is_file() and path.read_bytes().startswith(b"#!")]
    assert scripts
    assert [path.name for path in scripts if not os.access(path, os.X_OK)] == []
