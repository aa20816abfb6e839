"""Statements in tests/golden/sql: what document each is, or where and why it is refused."""

import re
from pathlib import Path

import pytest

from streamshed.cli.terminal.problem_lines import problem_lines
from streamshed.network.document.document_reader import Language, read_document
from tests.unit.documentation import page
from tests.unit.network.sql_text.golden_sql import (
    PREAMBLE,
    GoldenCase,
    golden_cases,
    outcome_text,
    problems_text,
    read,
)

STATEMENTS = golden_cases("statements.txt")
BROKEN = golden_cases("broken.txt")
DOCUMENTATION = page("docs/sql.md")


@pytest.mark.parametrize("case", STATEMENTS, ids=lambda case: case.title)
def test_statements_as_other_systems_have_them_become_what_is_listed(case: GoldenCase) -> None:
    assert outcome_text(case.sql) == case.outcome


@pytest.mark.parametrize("case", BROKEN, ids=lambda case: case.title)
def test_broken_statements_are_refused_where_they_are_wrong(case: GoldenCase) -> None:
    assert problems_text(case.sql, preamble=preamble_of(case)).strip() == case.outcome


@pytest.mark.parametrize("case", BROKEN, ids=lambda case: case.title)
def test_a_problem_shows_its_line_and_underlines_what_stands_in_its_column(case: GoldenCase) -> None:
    whole = preamble_of(case) + case.sql
    problems = read(case.sql, preamble=preamble_of(case)).problems
    assert problems
    for problem in problems:
        assert problem.line is not None
        assert problem.column is not None
        line, underline = (problem.excerpt or "").split("\n")
        assert line == whole.split("\n")[problem.line - 1]
        assert re.fullmatch(r"\s*\^+", underline)
        assert len(underline) - len(underline.lstrip()) == problem.column - 1


def test_there_are_enough_of_both() -> None:
    assert len(STATEMENTS) >= 40
    assert len(BROKEN) >= 25
    assert {f"q{number}" for number in range(23)} == set(nexmark())


def test_the_documentation_says_of_each_query_of_nexmark_whether_it_can_be_asked() -> None:
    rows = DOCUMENTATION.table("Nexmark")
    answers = [(name, row[0].startswith("yes")) for row in rows for name in row[1].split(", ")]
    assert len(dict(answers)) == len(answers)
    assert dict(answers) == nexmark()


def test_the_statements_of_the_documentation_are_sound_and_its_problem_is_shown_as_it_says(tmp_path: Path) -> None:
    (tmp_path / "hosts.csv").write_text("host,subnet\n")
    sql = DOCUMENTATION.code("sql")[0]
    assert read_document(sql, folder=tmp_path, language=Language.SQL).problems == ()
    problems = read_document(sql.replace("t.dest_port", "dest_prot"), folder=tmp_path, language=Language.SQL).problems
    assert [*problem_lines("monitor.sql", problems)] == DOCUMENTATION.code("text")[0].splitlines()


def nexmark() -> dict[str, bool]:
    """Whether one of the ways to write a query of Nexmark is taken."""
    taken: dict[str, bool] = {}
    for case in STATEMENTS:
        if (name := re.match(r"Nexmark (q\d+)", case.title)) is not None:
            is_taken = read(case.sql, preamble=PREAMBLE).document is not None
            taken[name[1]] = taken.get(name[1], False) or is_taken
    return taken


def preamble_of(case: GoldenCase) -> str:
    return "" if "CREATE STREAM" in case.sql else PREAMBLE
