import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

Importing = tuple[str, str]

ROOT = Path(__file__).parents[2]
CONFIGURATION = ROOT / "pyproject.toml"
LINT_IMPORTS = Path(sys.executable).with_name("lint-imports")

IMPORT_ALL_BUT_SPARK = """
import importlib, json, pkgutil, sys, streamshed
names = [module.name for module in pkgutil.iter_modules(streamshed.__path__, "streamshed.")]
for name in names:
    if name == "streamshed.spark":
        continue
    package = importlib.import_module(name)
    for module in pkgutil.walk_packages(getattr(package, "__path__", []), name + "."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
print(json.dumps([name for name in sys.modules if name.split(".")[0] in {"pyspark", "py4j"}]))
"""


IMPORT_WHAT_TASKS_RUN = """
import importlib, json, sys
for name in (
    "windows.finished_answers",
    "joins.join_operator",
    "common.late_processor",
    "plan.plan_client",
    "windows.slice_folding",
    "windows.slice_partials",
):
    importlib.import_module(f"streamshed.spark.{name}")
heavy = ("duckdb", "jsonschema", "matplotlib", "rich", "scipy.optimize", "scipy.sparse", "yaml")
print(json.dumps([name for name in heavy if name in sys.modules]))
"""

IMPORT_WHAT_THE_COMMAND_LINE_NAMES = """
import json, sys
import streamshed, streamshed.cli.main
heavy = ("duckdb", "jsonschema", "matplotlib", "numpy", "pandas", "pyarrow", "scipy", "yaml")
print(json.dumps([name for name in heavy if name in sys.modules]))
"""

ROOMS = (
    "answering",
    "network/model",
    "network/words",
    "planning/window_drop",
    "spark/common",
    "spark/loop",
    "spark/source",
    "spark/windows",
)
"""Packages and rooms in them that contracts speak of."""


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    """Check the package `streamshed` in a folder against the contracts of pyproject.toml."""
    return subprocess.run(
        [LINT_IMPORTS, "--config", CONFIGURATION, "--no-cache", "--no-logo"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def write_package(folder: Path, *, sources: Mapping[str, str]) -> None:
    package = folder / "streamshed"
    for name in (
        "",
        "cli",
        "spark",
        "simulator",
        "traces",
        "control",
        "planning",
        "statistics",
        "joins",
        "network",
        "elasticity",
        *ROOMS,
    ):
        (package / name).mkdir(parents=True, exist_ok=True)
        (package / name / "__init__.py").touch()
    for module in ("errors.py", "closing.py"):
        (package / module).touch()
    (folder / "streamshed_bench").mkdir()
    (folder / "streamshed_bench" / "__init__.py").touch()
    for path, source in sources.items():
        (package / path).parent.mkdir(exist_ok=True)
        (package / path).parent.joinpath("__init__.py").touch()
        (package / path).write_text(source)


def test_the_contracts_hold() -> None:
    result = lint_imports(ROOT)
    assert result.returncode == 0, result.stdout


def test_imports_downward_are_kept(tmp_path: Path) -> None:
    sources = {
        "cli/main.py": "import streamshed.spark.run",
        "spark/run.py": "import streamshed.spark.loop, pyspark\nimport streamshed.control",
        "traces/replay.py": "import streamshed.network",
        "api.py": "def start() -> None:\n    import streamshed.spark.run",
    }
    write_package(tmp_path, sources=sources)
    result = lint_imports(tmp_path)
    assert result.returncode == 0, result.stdout


WRONG: list[Importing] = [
    ("network/model/nodes.py", "streamshed.planning"),
    ("planning/plan/plan.py", "streamshed.control"),
    ("control/loop.py", "streamshed.spark"),
    ("errors.py", "streamshed.network"),
    ("spark/run.py", "streamshed.simulator"),
    ("traces/feeder.py", "streamshed.spark"),
    ("traces/stage.py", "streamshed.control"),
    ("traces/replay.py", "streamshed.statistics"),
    ("statistics/arrivals.py", "streamshed.traces"),
    ("network/model/query.py", "streamshed.spark"),
    ("joins/partition/partition.py", "streamshed.planning"),
    ("elasticity/settings.py", "streamshed.network"),
    ("elasticity/workers.py", "streamshed.statistics"),
    ("simulator/engine.py", "pyspark"),
    ("cli/main.py", "pyspark"),
    ("cli/run.py", "streamshed_bench"),
    ("network/words/names.py", "streamshed.network.model"),
    ("spark/windows/eviction.py", "streamshed.spark.loop"),
    ("spark/source/backlog.py", "streamshed.spark.windows"),
]
"""Modules, and what they must not import."""


@pytest.fixture(scope="module")
def wrong_imports(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What is said of a package whose modules have one wrong import each."""
    folder = tmp_path_factory.mktemp("wrong")
    write_package(folder, sources={path: f"def function() -> None:\n    import {name}\n" for path, name in WRONG})
    result = lint_imports(folder)
    assert result.returncode == 1, result.stdout
    assert "BROKEN" in result.stdout
    return result.stdout


@pytest.mark.parametrize(("path", "imported"), WRONG)
def test_a_wrong_import_is_found(wrong_imports: str, path: str, imported: str) -> None:
    importer = "streamshed." + path.removesuffix(".py").replace("/", ".")
    assert f"{importer} -> {imported}" in wrong_imports


def test_a_circle_is_found(tmp_path: Path) -> None:
    circle = {"statistics/guess.py": "statistics.reach", "statistics/reach.py": "statistics.guess"}
    write_package(tmp_path, sources={path: f"import streamshed.{name}" for path, name in circle.items()})
    result = lint_imports(tmp_path)
    assert result.returncode == 1
    assert "No circle of imports BROKEN" in result.stdout


def test_nothing_but_spark_loads_spark() -> None:
    result = subprocess.run([sys.executable, "-c", IMPORT_ALL_BUT_SPARK], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout.splitlines()[-1]) == []


def test_processes_of_tasks_load_nothing_that_takes_long_and_that_tasks_have_no_use_for() -> None:
    """Each of Spark's Python processes loads it, on every worker that comes."""
    result = subprocess.run([sys.executable, "-c", IMPORT_WHAT_TASKS_RUN], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout.splitlines()[-1]) == []


def test_help_and_import_load_nothing_that_takes_long() -> None:
    program = [sys.executable, "-c", IMPORT_WHAT_THE_COMMAND_LINE_NAMES]
    result = subprocess.run(program, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout.splitlines()[-1]) == []
