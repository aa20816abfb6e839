"""Which code of the package a user's calls come to, by imports and by the names that are mentioned."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = "streamshed"
ENTRIES = (PACKAGE, f"{PACKAGE}.__main__", f"{PACKAGE}.cli.main", f"{PACKAGE}.network.model.network")
"""What users import, the command line, and where `start`, `answers` and `explain` are methods."""
BENCHMARKS = "streamshed_bench"
_FOLDERS = {PACKAGE: ROOT / "src", BENCHMARKS: ROOT / "benchmarks"}


@dataclass(frozen=True)
class Module:
    """A file of the package."""

    name: str
    path: Path

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.path.read_text(encoding="utf-8"))

    @cached_property
    def definitions(self) -> dict[str, ast.stmt]:
        """Its functions, classes and methods, by name."""
        found: dict[str, ast.stmt] = {}
        for node in self.tree.body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                found[node.name] = node
            if isinstance(node, ast.ClassDef):
                found |= {f"{node.name}.{name}": member for member in node.body for name in _names_of(member)}
        return found

    @cached_property
    def mentions(self) -> tuple[tuple[str, int], ...]:
        """Every name that it mentions but does not import, and the line."""
        return tuple(
            (node.id if isinstance(node, ast.Name) else node.attr, node.lineno)
            for node in ast.walk(self.tree)
            if isinstance(node, ast.Name | ast.Attribute)
        )

    @cached_property
    def imported(self) -> frozenset[str]:
        """The modules that it imports, wherever it does so; also those that are told by name, to be imported later."""
        found: set[str] = set()
        for node in ast.walk(self.tree):
            match node:
                case ast.Import(names=names):
                    found |= {alias.name for alias in names}
                case ast.ImportFrom(module=str(module), names=names):
                    found |= {module, *(f"{module}.{alias.name}" for alias in names)}
                case ast.Constant(value=str(text)) if text.startswith(f"{PACKAGE}."):
                    found.add(text)
        return frozenset(found)


def _names_of(member: ast.stmt) -> Iterator[str]:
    match member:
        case ast.FunctionDef(name=name) | ast.AnnAssign(target=ast.Name(id=name)):
            yield name


class Code:
    """The package and its benchmarks as they are."""

    def __init__(self) -> None:
        self.modules = {
            (name := _name_of(path.relative_to(folder))): Module(name, path)
            for package, folder in _FOLDERS.items()
            for path in (folder / package).rglob("*.py")
        }

    def module(self, path: str) -> Module | None:
        """The module of a file, its path relative to the package; of a benchmark, with the name of theirs."""
        return self.modules.get(_name_of(Path(path) if path.startswith(BENCHMARKS) else Path(PACKAGE, path)))

    @cached_property
    def reached(self) -> frozenset[str]:
        """The modules that users come to; what only benchmarks import is none."""
        found: set[str] = set()
        waiting = list(ENTRIES)
        while waiting:
            name = waiting.pop()
            if name in found or name not in self.modules or name.startswith(BENCHMARKS):
                continue
            found.add(name)
            waiting += [*self.modules[name].imported, name.rpartition(".")[0]]
        return frozenset(found)

    def has_caller(self, module: Module, name: str) -> bool:
        """Whether code that users come to mentions a definition, outside of it."""
        node, last = module.definitions[name], name.rpartition(".")[2]
        within = range(node.lineno, (node.end_lineno or node.lineno) + 1)
        return any(
            mentioned == last and not (other is module and line in within)
            for other in (self.modules[reached] for reached in sorted(self.reached))
            for mentioned, line in other.mentions
        )


def _name_of(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
