"""What `tests/README.md` says of tests: they exist, `make test` runs them, and the budget is that of the suite."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.spark.budget import MOST
from tests.unit.documentation import ROOT, named, page

PAGE = page("tests/README.md")
SPARK = ROOT / "tests/spark"
TRUNKS = SPARK / "trunks"
GUARANTEES = PAGE.table("Guarantees")


def paths_in(text: str) -> list[str]:
    """The modules and folders of tests that a text names."""
    folders = {path.name for path in TRUNKS.iterdir()}
    names = [name for name in named(text) if name.endswith((".py", "/")) and " " not in name]
    return [name for name in names if name.partition("/")[0] in {"tests", *folders}]


def places(path: str) -> list[Path]:
    """What a path stands for; it is below `tests/spark/trunks/` unless it begins with `tests/`."""
    return list((ROOT if path.startswith("tests/") else TRUNKS).glob(path))


def modules(path: str) -> list[Path]:
    """The modules that a path stands for; of a folder, those that lie in it."""
    return [module for place in places(path) for module in ([place] if place.is_file() else place.glob("test_*.py"))]


def lines() -> Iterator[tuple[str, list[str]]]:
    """The lines that name tests, with what they name."""
    for line in PAGE.prose.splitlines():
        if paths := paths_in(line):
            yield line, paths


def is_thorough(module: Path) -> bool:
    """Whether only a thorough run runs all of a module."""
    return any(
        isinstance(node, ast.ImportFrom)
        and node.module == "tests.thoroughness"
        and {alias.name for alias in node.names} & {"thorough", "chosen"}
        for node in ast.parse(module.read_text(encoding="utf-8")).body
    )


def test_every_test_that_is_named_exists() -> None:
    paths = [path for _, paths in lines() for path in paths]
    assert len(paths) > 100
    assert [path for path in paths if not places(path)] == []


def test_what_only_a_thorough_run_runs_is_called_so() -> None:
    assert [
        path
        for line, paths in lines()
        for path in paths
        if "thorough" not in line and path.endswith(".py") and any(map(is_thorough, modules(path)))
    ] == []
    assert is_thorough(SPARK / "test_spark_submit.py")
    assert not is_thorough(SPARK / "tables/test_tables_as_streams.py")


@pytest.mark.parametrize("row", GUARANTEES, ids=lambda row: str(row[0]))
def test_every_guarantee_names_a_test(row: list[str]) -> None:
    assert paths_in(row[1])


def test_every_module_of_tests_on_spark_is_named() -> None:
    mentioned = {module for _, paths in lines() for path in paths for module in modules(path)}
    assert sorted(str(path.relative_to(ROOT)) for path in set(SPARK.rglob("test_*.py")) - mentioned) == []


def test_the_budget_is_that_of_the_suite() -> None:
    budget = re.search(r"may start (\d+) runs and (\d+) micro-batches", PAGE.text)
    assert budget is not None
    assert [int(number) for number in budget.groups()] == [MOST.runs, MOST.micro_batches]


def test_trunks_that_are_stopped_in_an_orderly_way_are_named() -> None:
    stopped = [path.parent.name for path in TRUNKS.glob("*/__init__.py") if "handed_over_after=" in path.read_text()]
    line = next(line for line in PAGE.prose.splitlines() if "handed_over_after" in line)
    assert named(line.partition(" (")[0]) == sorted(stopped)
