"""Deliberate faults can be planted, the tests that are to find them exist, and the table of the last run has each."""

import ast
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.unit.documentation import ROOT, named, page

SOURCES = ROOT / "src" / "streamshed"
FAULTS: list[dict[str, Any]] = tomllib.loads((ROOT / "scripts/mutants.toml").read_text(encoding="utf-8"))["mutant"]
TABLE = page("docs/deliberate_faults.md").table("Deliberate faults")


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


def test_each_fault_has_a_name_of_its_own_and_a_row_with_its_place() -> None:
    assert len({by_name(fault) for fault in FAULTS}) == len(FAULTS) >= 40
    assert [(name, named(path)) for name, path, _ in TABLE] == [(by_name(fault), [fault["path"]]) for fault in FAULTS]


@pytest.mark.parametrize(("fault", "row"), list(zip(FAULTS, TABLE, strict=False)), ids=map(by_name, FAULTS))
def test_the_test_that_found_it_exists_and_is_among_those_that_are_to(fault: dict[str, Any], row: list[str]) -> None:
    [finder] = named(row[2])
    path, *names = finder.split("::")
    assert any((ROOT / path).is_relative_to(ROOT / test) for test in fault["tests"])
    assert {name.rpartition(".")[2] for name in names} <= defined(ROOT / path)


@pytest.mark.parametrize("path", ["docs/testing.md", "docs/deliberate_faults.md"])
def test_how_many_there_are_is_said(path: str) -> None:
    section = page(path).section("Deliberate faults")
    assert re.findall(r"\b[Aa]ll (\d+)\b", section) == [str(len(FAULTS))]
