"""What docs/papers.md calls built is part of what runs: its modules are imported on the way from `start` or a command.

Experiments, which are below `bench/`, are left out: each is a benchmark of its own.
"""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from tests.unit.documentation import ROOT, page, tables

SOURCES = ROOT / "src/streamshed"
ENTRIES = ("spark/run.py", "spark/bounded.py", "cli/main.py")
CELLS = [cell for table in tables(page("docs/papers.md").text) for row in table for cell in row if "**" in cell]
MARK = re.compile(r"\*\*(built|library)\*\*")
PATH = re.compile(r"`((?:\w+/)+\w+\.py)`")


def marked(mark: str) -> list[str]:
    """The paths behind a mark, up to the next one."""
    found: list[str] = []
    for cell in CELLS:
        _, *parts = MARK.split(cell)
        for name, text in zip(parts[::2], parts[1::2], strict=True):
            found += [path for path in PATH.findall(text) if name == mark and (SOURCES / path).exists()]
    return sorted({path for path in found if not path.startswith("bench/")})


@cache
def imported_by(file: Path) -> frozenset[Path]:
    """The modules of streamshed that a module imports, at its top or when it is called."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        match node:
            case ast.Import(names=aliases):
                names |= {alias.name for alias in aliases}
            case ast.ImportFrom(module=str(module), names=aliases):
                names |= {module, *(f"{module}.{alias.name}" for alias in aliases)}
            case ast.Constant(value=str(text)) if re.fullmatch(r"streamshed(\.\w+)+", text):
                names.add(text)
    inside = [SOURCES.joinpath(*name.split(".")[1:]) for name in names if name.startswith("streamshed")]
    files = [candidate for path in inside for candidate in (path.with_suffix(".py"), path / "__init__.py")]
    return frozenset(candidate for candidate in files if candidate.exists())


@cache
def running() -> frozenset[Path]:
    """All modules on the way from the entries."""
    reached: set[Path] = set()
    ahead = {SOURCES / entry for entry in ENTRIES}
    while ahead:
        reached |= ahead
        ahead = {module for file in ahead for module in imported_by(file)} - reached
    return frozenset(reached)


@pytest.mark.parametrize("path", marked("built"))
def test_what_is_built_is_on_the_way(path: str) -> None:
    assert SOURCES / path in running()


def test_both_marks_are_read() -> None:
    assert len(marked("built")) > 100
    assert "planning/window_drop/arrangement.py" in marked("library")
    assert SOURCES / "planning/window_drop/arrangement.py" not in running()
