"""What is installed from a wheel, by pip, into an environment that has nothing of ours."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.documentation import ROOT

BUILT_FROM = ("src", "examples", "pyproject.toml", "README.md", "LICENSE")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what a wheel of these sources installs."""
    folder = tmp_path_factory.mktemp("wheel")
    sources, target = folder / "sources", folder / "target"
    sources.mkdir()
    for name in BUILT_FROM:
        path = ROOT / name
        ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
        shutil.copytree(path, sources / name, ignore=ignored) if path.is_dir() else shutil.copy(path, sources)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    subprocess.run(
        [*pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", folder, sources], check=True, cwd=folder
    )
    (wheel,) = folder.glob("streamshed-*.whl")
    subprocess.run([*pip, "install", "--no-deps", "--target", target, wheel], check=True, cwd=folder)
    return target


def run(installed: Path, *arguments: str) -> str:
    """Run the command of what is installed, away from these sources."""
    command = [sys.executable, "-P", "-m", "streamshed", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(installed), "PYTHONSAFEPATH": "1"}
    return subprocess.run(command, env=environment, cwd=installed, check=True, capture_output=True, text=True).stdout


def test_types_and_files_of_packages_come_with_it(installed: Path) -> None:
    ours = {path.relative_to(ROOT / "src") for path in (ROOT / "src/streamshed").rglob("*") if path.is_file()}
    wanted = {path for path in ours if path.suffix != ".pyc"}
    assert Path("streamshed/py.typed") in wanted
    assert {path for path in wanted if not (installed / path).exists()} == set()


def test_examples_come_with_it_and_are_valid(installed: Path) -> None:
    examples = installed / "share/streamshed/examples"
    listed = subprocess.run(
        ["git", "ls-files", "examples"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.split()
    assert listed
    assert {path for path in listed if not (examples / Path(path).relative_to("examples")).exists()} == set()
    assert "valid" in run(installed, "validate", str(examples / "network_monitor.yaml"))


def test_the_schema_of_documents_is_printed(installed: Path) -> None:
    assert run(installed, "schema") == (ROOT / "docs/network.schema.json").read_text("utf-8")
