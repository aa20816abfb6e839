"""Deliberate faults can be planted, the tests that are to find them exist, and each was found in the last run."""

import ast
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.unit.documentation import ROOT

SOURCES = ROOT / "src" / "streamshed"
FAULTS: list[dict[str, Any]] = tomllib.loads((ROOT / "scripts/mutants.toml").read_text(encoding="utf-8"))["mutant"]


def by_name(fault: dict[str, Any]) -> str:
    return str(fault["name"])


def defined(path: Path) -> set[str]:
    """The functions and classes of a module, also within classes, and what it imports."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                names.add(name)
            case ast.ImportFrom(names=imported):
                names.update(alias.asname or alias.name for alias in imported)
    return names


@pytest.mark.parametrize("fault", FAULTS, ids=by_name)
def test_the_text_that_is_replaced_is_there_once(fault: dict[str, Any]) -> None:
    assert fault["old"] != fault["new"]
    assert (SOURCES / fault["path"]).read_text(encoding="utf-8").count(fault["old"]) == 1


@pytest.mark.parametrize("fault", FAULTS, ids=by_name)
def test_tests_that_are_to_find_it_exist(fault: dict[str, Any]) -> None:
    assert fault["tests"]
    assert [path for path in fault["tests"] if not (ROOT / path).exists()] == []


def test_each_fault_has_a_name_of_its_own() -> None:
    assert len({by_name(fault) for fault in FAULTS}) == len(FAULTS) >= 40


@pytest.mark.parametrize("fault", FAULTS, ids=by_name)
def test_the_test_that_found_it_exists_and_is_among_those_that_are_to(fault: dict[str, Any]) -> None:
    path, *names = fault["found_by"].split("::")
    assert any((ROOT / path).is_relative_to(ROOT / test) for test in fault["tests"])
    assert {name.rpartition(".")[2] for name in names} <= defined(ROOT / path)
