import json
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from streamshed.cli.terminal.exit_code import ExitCode
from streamshed.errors import JavaUnavailableError
from streamshed.network.document.document_sql import ExpressionChecker
from streamshed.spark.operators import expression_checker
from tests.unit.cli.command_line import Outcome, streamshed

GOOD = """
streamshed: 1
streams:
  ticks: {source: {rate: {rows_per_second: 10}}, time: timestamp}
queries:
  total: {from: ticks, window: {size: 1 minute}, aggregates: {total: sum(value)}}
"""
BAD = GOOD.replace("from: ticks", "from: tics").replace("size:", "sise:").replace("sum(value)", "sum(valeu")


@contextmanager
def refusing_parser() -> Iterator[ExpressionChecker]:
    yield lambda text: f"Spark refuses {text}"


def no_java() -> AbstractContextManager[ExpressionChecker]:
    raise JavaUnavailableError("no Java found.")


def written(folder: Path, text: str) -> Path:
    path = folder / "network.yaml"
    path.write_text(text)
    return path


def test_a_valid_document(tmp_path: Path) -> None:
    outcome = streamshed("validate", written(tmp_path, GOOD), "--no-spark")
    assert (outcome.code, outcome.errors) == (ExitCode.DONE, "")
    assert outcome.output.endswith("network.yaml: valid: 1 stream, 1 query\n")


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()

    def validated(folder: str, *options: str) -> Outcome:
        source = f"folder: {folder}, format: json, schema: 'timestamp timestamp, value int'"
        text = GOOD.replace("rate: {rows_per_second: 10}", source)
        return streamshed("validate", written(tmp_path, text), "--no-spark", *options)

    assert len(validated("here").output.splitlines()) == 1
    absent = validated("in")
    assert (absent.code, len(absent.output.splitlines())) == (ExitCode.DONE, 2)
    problem = f'stream "ticks": the folder "{tmp_path / "in"}" does not exist'
    assert f"on this machine it would not start: {problem}" in absent.output
    assert validated("in", "--json").object["unavailable"] == {"ticks": problem}


def test_all_problems_one_per_line(tmp_path: Path) -> None:
    path = written(tmp_path, BAD)
    outcome = streamshed("validate", path, "--no-spark")
    assert outcome.code == ExitCode.REFUSED
    lines = outcome.output.splitlines()
    assert any(
        line.startswith(f"{path}:6: queries.total.from: unknown stream or operator, got 'tics'") for line in lines
    )
    assert any(
        "queries.total.window.sise: unknown key, got '1 minute' (did you mean \"size\"?)" in line for line in lines
    )
    assert any("queries.total.aggregates.total" in line for line in lines)


def test_json(tmp_path: Path) -> None:
    report = streamshed("validate", written(tmp_path, BAD), "--no-spark", "--json").object
    assert report["valid"] is False
    assert report["parsers"] == ["streamshed"]
    assert {"path", "line", "value", "message", "near_miss"} == set(report["problems"][0])
    assert {"queries.total.from", "queries.total.window.sise"} <= {p["path"] for p in report["problems"]}


def test_json_knows_no_numbers_that_are_not_finite(tmp_path: Path) -> None:
    text = GOOD.replace("{from: ticks,", "{from: ticks, weight: .nan, priority: [-.inf],")
    output = streamshed("validate", written(tmp_path, text), "--no-spark", "--json").output

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    problems = json.loads(output, parse_constant=refuse)["problems"]
    assert {problem["path"]: problem["value"] for problem in problems} == {
        "queries.total.weight": "nan",
        "queries.total.priority": ["-inf"],
    }


def test_json_of_a_valid_document_names_what_is_in_it(tmp_path: Path) -> None:
    report = streamshed("validate", written(tmp_path, GOOD), "--no-spark", "--json").object
    assert report["valid"] is True
    assert (report["streams"], report["queries"], report["problems"]) == (["ticks"], ["total"], [])


def test_a_missing_file_is_a_problem_of_the_document(tmp_path: Path) -> None:
    outcome = streamshed("validate", tmp_path / "none.yaml", "--json")
    assert outcome.code == ExitCode.REFUSED
    assert outcome.object["problems"][0]["path"] == "document"


def test_spark_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expression_checker, "started_parser", refusing_parser)
    report = streamshed("validate", written(tmp_path, GOOD), "--json").object
    assert report["parsers"] == ["streamshed", "spark"]
    assert [problem["message"] for problem in report["problems"]] == ["Spark refuses sum(value)"]


def test_without_java_our_own_parser_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expression_checker, "started_parser", no_java)
    outcome = streamshed("validate", written(tmp_path, GOOD))
    assert outcome.code == ExitCode.DONE
    assert outcome.errors == "note: no Java found. SQL is parsed by streamshed alone.\n"


def test_problems_of_sql_are_shown_where_they_stand(tmp_path: Path) -> None:
    path = tmp_path / "network.sql"
    path.write_text(
        "CREATE STREAM ticks WATERMARK FOR timestamp AS timestamp WITH (rows_per_second = 10);\n"
        "CREATE QUERY total AS SELECT sum(valeu) AS total FROM ticks GROUP BY window(timestamp, '1 minute');\n"
    )
    outcome = streamshed("validate", path, "--no-spark")
    assert (outcome.code, outcome.output.splitlines()) == (
        ExitCode.REFUSED,
        [
            f'{path}:2:34: query "total": SELECT: unknown column "valeu" (did you mean "value"?)',
            "    CREATE QUERY total AS SELECT sum(valeu) AS total FROM ticks GROUP BY window(timestamp, '1 minute');",
            "                                     ^^^^^",
        ],
    )
    (problem,) = streamshed("validate", path, "--no-spark", "--json").object["problems"]
    assert (problem["line"], problem["column"], problem["near_miss"]) == (2, 34, "value")
    assert problem["excerpt"].splitlines()[1].strip() == "^^^^^"


def test_spark_is_asked_about_the_text_that_was_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expression_checker, "started_parser", refusing_parser)
    path = tmp_path / "network.sql"
    path.write_text(
        "CREATE STREAM ticks WATERMARK FOR timestamp AS timestamp WITH (rows_per_second = 10);\n"
        "CREATE QUERY large AS SELECT * FROM ticks t WHERE t.value  > 3;\n"
    )
    assert "Spark refuses value  > 3" in streamshed("validate", path).output
