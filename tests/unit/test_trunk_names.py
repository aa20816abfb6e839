"""`pytest tests/spark/trunks -k NAME` runs a scenario alone: nothing else there has its name in it."""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.unit.documentation import ROOT

TRUNKS = ROOT / "tests/spark/trunks"


def scenarios() -> list[Path]:
    """The modules of scenarios."""
    paths = sorted(TRUNKS.rglob("test_*.py"))
    assert paths
    return paths


def names_in(module: Path) -> Iterator[str]:
    """The names of a module, its tests and classes of tests; it may import some."""
    yield module.stem
    for node in ast.parse(module.read_text(encoding="utf-8")).body:
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.ImportFrom(names=imported):
                yield from (alias.asname or alias.name for alias in imported)


def test_nothing_in_another_module_has_the_name_of_a_scenario() -> None:
    names = {module: list(names_in(module)) for module in scenarios()}
    assert [
        f"{module.stem}: {other.relative_to(TRUNKS)}::{name}"
        for module in names
        for other in names
        if other != module
        for name in names[other]
        if module.stem in name
    ] == []
