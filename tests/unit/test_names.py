"""Values have nouns for names, and functions fit on a screen."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src" / "streamshed"
BENCHMARKS = ROOT / "benchmarks" / "streamshed_bench"

CLEAN = (
    "answering",
    "bench",
    "cli",
    "columnar",
    "control",
    "dashboard",
    "elasticity",
    "joins",
    "network",
    "page",
    "planning",
    "sharing",
    "simulator",
    "spark",
    "statistics",
    "streamshed",
    "traces",
)
"""The packages whose names hold to the rule: all, and the files beside them."""

PARTICIPLES = frozenset({"asked", "found", "kept", "known", "one", "own", "told"})
"""They say where a value comes from, not what it is."""

BARE = frozenset({"batch", "data", "process", "rate"})
"""Each means several things here (`sampling_rate`, `rows_per_second`; `micro_batch`, `gap_windows`): for values."""

WRITTEN_DOWN = {
    "GapCoin.batch": "a key of plans and checkpoints, which have to be read again",
}
"""Names that stay, with the reason."""

MOST_LINES = 40
"""Of a function, docstring and decorators not counted."""

FOLDERS = ("src", "benchmarks", "tests", "scripts", "examples")
"""Where functions are that short."""


def bindings(node: ast.AST, scope: tuple[str, ...] = ()) -> Iterator[tuple[str, int]]:
    """The names that are bound below a node, by scope, with their lines; of functions and classes participles only."""
    match node:
        case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
            if node.name.strip("_").lower() in PARTICIPLES:
                yield ".".join([*scope, node.name]), node.lineno
            scope = (*scope, node.name)
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp() | ast.Lambda():
            if node.lineno == node.end_lineno:  # what lives for a line may have any name; what := binds lives on
                for inner in ast.walk(node):
                    if isinstance(inner, ast.NamedExpr):
                        yield ".".join([*scope, inner.target.id]), inner.lineno
                return
        case (
            ast.Name(id=name, ctx=ast.Store())
            | ast.Attribute(attr=name, ctx=ast.Store())
            | ast.arg(arg=name)
            | ast.ExceptHandler(name=str(name))
            | ast.MatchAs(name=str(name))
            | ast.MatchStar(name=str(name))
        ):
            assert isinstance(node, ast.expr | ast.arg | ast.excepthandler | ast.pattern)
            yield ".".join([*scope, name]), node.lineno
    for child in ast.iter_child_nodes(node):
        yield from bindings(child, scope)


def vague_names(source: str) -> list[tuple[str, int]]:
    """The values of a module that are named by a word that names nothing, by scope, with their lines."""
    return [
        (name, line)
        for name, line in bindings(ast.parse(source))
        if _is_vague(name.rpartition(".")[2].strip("_")) and not _is_written_down(name)
    ]


def _is_vague(name: str) -> bool:
    """Constants are told apart by their places; of all else the case does not matter."""
    return not name.isupper() and name.lower() in PARTICIPLES | BARE


def _is_written_down(name: str) -> bool:
    return ".".join(name.split(".")[-2:]) in WRITTEN_DOWN


def long_functions(source: str) -> list[tuple[str, int]]:
    """The functions of a module that have more lines than fit on a screen, with how many they have."""
    functions = [
        node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    lengths = [(function.name, _lines(function)) for function in functions]
    return [(name, lines) for name, lines in lengths if lines > MOST_LINES]


def _lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    assert function.end_lineno is not None
    lines = function.end_lineno - function.lineno + 1
    if ast.get_docstring(function) is None:
        return lines
    documentation = function.body[0]
    assert documentation.end_lineno is not None
    return lines - (documentation.end_lineno - documentation.lineno + 1)


def modules(package: str) -> Iterator[Path]:
    if package == SOURCES.name:
        paths = sorted(SOURCES.glob("*.py"))
    else:
        paths = sorted((BENCHMARKS if package == "bench" else SOURCES / package).rglob("*.py"))
    assert paths, f"there is no package {package}"
    yield from paths


@pytest.mark.parametrize("package", CLEAN)
def test_values_are_named_by_nouns(package: str) -> None:
    vague = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path in modules(package)
        for name, line in vague_names(path.read_text(encoding="utf-8"))
    ]
    assert not vague


@pytest.mark.parametrize("folder", FOLDERS)
def test_functions_fit_on_a_screen(folder: str) -> None:
    paths = sorted((ROOT / folder).rglob("*.py"))
    assert paths, f"there are no modules in {folder}"
    long = [
        f"{path.relative_to(ROOT)}: {name} has {lines} lines"
        for path in paths
        for name, lines in long_functions(path.read_text(encoding="utf-8"))
    ]
    assert not long


def test_no_package_is_left_out() -> None:
    packages = {path.parent.name for path in SOURCES.glob("*/__init__.py")}
    assert {*CLEAN} == {*packages, "bench", SOURCES.name}


def test_every_exception_is_needed() -> None:
    classes = {name.split(".")[0] for name in WRITTEN_DOWN}
    defined = "\n".join(path.read_text(encoding="utf-8") for package in CLEAN for path in modules(package))
    assert all(f"class {name}" in defined for name in classes)


@pytest.mark.parametrize(
    "source",
    [
        "found = 1",
        "found: int = 1",
        "found, rows = pair",
        "for one in rows:\n    pass",
        "with opened() as data:\n    pass",
        "def rows(known): pass",
        "def rows(*, rate=1.0): pass",
        "def told(): pass",
        "class Told: pass",
        "class _Found: pass",
        "class Plan:\n    kept: int",
        "class Plan:\n    def __init__(self):\n        self._kept = 1",
        "rows = [\n    one.rows\n    for one in streams\n]",
        "rows = [row for name in names if (found := name)]",
        "rows = sorted(names, key=lambda one:\n    one.rows)",
        "try:\n    pass\nexcept ValueError as told:\n    pass",
        "match rows:\n    case [found, *_]:\n        pass",
        "match rows:\n    case [*found]:\n        pass",
        "async def rows(*own): pass",
    ],
)
def test_a_word_that_names_nothing_is_noticed(source: str) -> None:
    assert len(vague_names(source)) == 1


@pytest.mark.parametrize(
    "source",
    [
        "rows = [one.rows for one in streams]",
        "rows = sorted(names, key=lambda one: one.rows)",
        "known_rows = found_rows = 1",
        "rows = plan.known(kept=1)",
        "def process(): pass",
        "from streamshed import rate",
        "class GapCoin:\n    batch: int",
    ],
)
def test_other_words_are_not(source: str) -> None:
    assert not vague_names(source)


def test_docstrings_do_not_make_a_function_long() -> None:
    body = "\n".join(["    rows += 1"] * (MOST_LINES - 1))
    documented = f'def count(rows):\n    """Count.\n\n    Rows.\n    """\n{body}'
    assert not long_functions(documented)
    assert long_functions(f"{documented}\n    rows += 1") == [("count", MOST_LINES + 1)]
