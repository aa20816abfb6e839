"""Plant deliberate faults, one at a time, and see that the tests find each: a test that no fault fails proves nothing.

    .venv/bin/python scripts/mutants.py             all faults of scripts/mutants.toml
    .venv/bin/python scripts/mutants.py NAME...     these
    .venv/bin/python scripts/mutants.py --pure      those that tests without Spark find
    .venv/bin/python scripts/mutants.py --passed    `make test` has passed: not without any fault first

Each fault names the tests of `make test` (without the elastic part) that are to find it. They run on a copy of the
sources: first unchanged, when all must pass, then with the fault, when one must fail. The table of results goes to
standard output, in Markdown; the exit code is 1 when a fault was not found. `found_by` in scripts/mutants.toml is the
test that failed first in the last run: bring it up to date.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
COPIED = (
    "src",
    "benchmarks",
    "tests",
    "examples",
    "docs",
    "scripts",
    "pyproject.toml",
    "Makefile",
    "README.md",
    "CHANGELOG.md",
)
LONGEST_SECONDS = 900
"""Tests that take longer have found the fault: something does not end any more."""


@dataclass(frozen=True)
class Mutant:
    """A deliberate fault.

    Attributes:
        name: What is wrong, in a few words.
        path: The file, below `src/streamshed`.
        old: The text that is replaced; it is there once.
        new: The text that takes its place.
        tests: Arguments of pytest: the tests that are to find it.
        found_by: The test that failed first in the last run.
    """

    name: str
    path: str
    old: str
    new: str
    tests: tuple[str, ...]
    found_by: str

    @property
    def needs_spark(self) -> bool:
        """Whether tests on Spark are to find it."""
        return any(test.startswith("tests/spark") for test in self.tests)


@dataclass(frozen=True)
class Result:
    """What came of a fault: the first test that failed, None where none did."""

    mutant: Mutant
    finder: str | None
    seconds: float


def mutants() -> list[Mutant]:
    """Read the faults."""
    table = tomllib.loads((ROOT / "scripts" / "mutants.toml").read_text(encoding="utf-8"))
    return [Mutant(**{**entry, "tests": tuple(entry["tests"])}) for entry in table["mutant"]]


def copied(target: Path) -> None:
    """Copy what tests need."""
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, target / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
        else:
            shutil.copy(source, target / name)


def run_tests(tree: Path, tests: tuple[str, ...]) -> str | None:
    """Run tests on a copy; returns the first that failed, or that they did not end; None where all passed."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "--no-header", "--tb=no", *tests]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tree / "src"), str(tree / "benchmarks")])}
    try:
        ended = subprocess.run(
            command, cwd=tree, env=environment, capture_output=True, text=True, timeout=LONGEST_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return f"{' '.join(tests)}: no end"
    if ended.returncode == 0:
        return None
    failed = [line for line in ended.stdout.splitlines() if line.startswith(("FAILED ", "ERROR "))]
    if not failed:
        raise RuntimeError(f"no test ran: {ended.stdout[-2000:]}{ended.stderr[-2000:]}")
    return failed[0].split(" ", 1)[1].split(" - ")[0]


def planted(tree: Path, mutant: Mutant) -> str:
    """Plant a fault; returns the text of the file as it was."""
    path = tree / "src" / "streamshed" / mutant.path
    text = path.read_text(encoding="utf-8")
    if text.count(mutant.old) != 1:
        raise ValueError(f"{mutant.name}: {text.count(mutant.old)} times in {mutant.path}, not once: {mutant.old!r}")
    path.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")
    return text


def tried(tree: Path, mutant: Mutant) -> Result:
    """Run the tests of a fault with it, and take it out again."""
    text = planted(tree, mutant)
    begun = time.monotonic()
    try:
        finder = run_tests(tree, mutant.tests)
    finally:
        (tree / "src" / "streamshed" / mutant.path).write_text(text, encoding="utf-8")
    return Result(mutant, finder, time.monotonic() - begun)


def chosen_mutants() -> tuple[list[Mutant], bool]:
    """The faults that the command line names, and whether tests are run without any fault first."""
    parser = argparse.ArgumentParser(description="Plant deliberate faults, and see that tests find them.")
    parser.add_argument("names", nargs="*", help="faults; without any, all")
    parser.add_argument("--pure", action="store_true", help="those that tests without Spark find")
    parser.add_argument("--spark", action="store_true", help="those that tests on Spark find")
    parser.add_argument("--passed", action="store_true", help="do not run the tests without any fault first")
    arguments = parser.parse_args()
    every = mutants()
    unknown = set(arguments.names) - {mutant.name for mutant in every}
    if unknown:
        parser.error(f"no fault is called {', '.join(sorted(unknown))}")
    chosen = [mutant for mutant in every if not arguments.names or mutant.name in arguments.names]
    if arguments.pure or arguments.spark:
        chosen = [mutant for mutant in chosen if mutant.needs_spark is arguments.spark]
    return chosen, not arguments.passed


def main() -> int:
    """Try the faults, and tell of each as soon as it is done."""
    # Who is told to end takes the tests that it has started along.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    chosen, first_without = chosen_mutants()
    with tempfile.TemporaryDirectory(prefix="mutants_") as folder:
        tree = Path(folder)
        copied(tree)
        for mutant in chosen:
            (tree / "src" / "streamshed" / mutant.path).write_text(planted(tree, mutant), encoding="utf-8")
        for tests in dict.fromkeys(mutant.tests for mutant in chosen if first_without):
            if (failed := run_tests(tree, tests)) is not None:
                raise SystemExit(f"without any fault, {failed} fails")
        sys.stdout.write("| fault | where | found by | seconds |\n|---|---|---|---|\n")
        missed = 0
        for mutant in chosen:
            result = tried(tree, mutant)
            missed += result.finder is None
            finder = f"`{result.finder}`" if result.finder else "**nothing**"
            sys.stdout.write(f"| {mutant.name} | `{mutant.path}` | {finder} | {result.seconds:.0f} |\n")
            sys.stdout.flush()
    sys.stdout.write(f"\n{len(chosen) - missed} of {len(chosen)} faults were found.\n")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
