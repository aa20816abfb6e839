"""A module that rests on an internal of Spark names the test that fails once Spark changes it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SOURCES = ROOT / "src" / "streamshed" / "spark"

INTERNALS = (
    r"SLF001",  # private members, as the linter knows them
    r"\b_(?:jvm|jdf|jsc|jsq|jsparkSession|jreader|jwrite|gateway|ensure_initialized)\b",
    r"\bpy4j\b",
    r"\bpyspark\.(?:daemon|java_gateway|worker)\b",
    r"\bpyspark\.sql\.(?:classic|pandas)\b",
    r"\bfrom pyspark import cloudpickle\b",
    r"\bfrom pyspark\.errors import utils\b",
    r"\borg\.apache\.spark\.(?!sql\.delta\b)",  # classes; the connectors' names are public
    r"_tmp_metadata_row_index",  # columns and metadata that Spark knows by their names
    r"watermarkDelayMs",
    r"getLocalProperty",
    r"\"(?:commits|offsets|sources/|state[/\"])",  # folders of a checkpoint
    r"\"(?:customMetrics|durationMs|observedMetrics|stateOperators)\"",  # a report of progress
    r"SQLSTATE",  # the form of a message
)
"""What shows that a module rests on an internal: patterns of its text."""

NAMED = re.compile(r"Rests on Spark's internals: (?P<tests>tests/[^.]+\.py(?:(?:,| and) tests/[^.]+\.py)*)\.")
"""How a docstring names the tests."""


def internals(source: str) -> list[str]:
    """The patterns that a module's text matches."""
    return [pattern for pattern in INTERNALS if re.search(pattern, source)]


def named_tests(source: str) -> list[str]:
    """The tests that a module's docstring names as those of its internals."""
    sentence = NAMED.search(" ".join((ast.get_docstring(ast.parse(source)) or "").split()))
    return [] if sentence is None else re.findall(r"tests/[^ ,]+?\.py", sentence["tests"])


def test_modules_name_the_tests_of_the_internals_that_they_rest_on() -> None:
    texts = {path.relative_to(ROOT): path.read_text(encoding="utf-8") for path in sorted(SOURCES.rglob("*.py"))}
    assert texts
    assert [path for path, text in texts.items() if internals(text) and not named_tests(text)] == []


def test_the_tests_are_there() -> None:
    named = {test for path in SOURCES.rglob("*.py") for test in named_tests(path.read_text(encoding="utf-8"))}
    assert named
    assert [test for test in sorted(named) if not (ROOT / test).is_file()] == []


def test_every_pattern_is_needed() -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in SOURCES.rglob("*.py"))
    assert [pattern for pattern in INTERNALS if not re.search(pattern, text)] == []


@pytest.mark.parametrize(
    "line",
    [
        "java = spark.sparkContext._jvm",
        "from py4j.protocol import Py4JError",
        "from pyspark.sql.pandas.types import to_arrow_schema",
        'checkpoint.read_text(f"offsets/{micro_batch_id}")',
        'progress["durationMs"]',
    ],
)
def test_an_internal_is_noticed(line: str) -> None:
    assert internals(line)


def test_public_names_are_none() -> None:
    assert not internals('from pyspark.errors import AnalysisException\nquery.lastProgress["batchId"]')


def test_more_tests_than_one_may_be_named() -> None:
    sentence = "Rests on Spark's internals: tests/a/test_b.py and\ntests/a/test_c.py."
    assert named_tests(f'"""Rows.\n\n{sentence}\n"""') == ["tests/a/test_b.py", "tests/a/test_c.py"]
    assert not named_tests('"""Rows."""')
