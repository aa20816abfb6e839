"""`streamshed predict` over the files that a run leaves."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from streamshed.answering.table.answer_schema import ANSWER_SCHEMA
from streamshed.cli.terminal.exit_code import ExitCode
from tests.unit.answering.sink_rows import EPOCH, row, table
from tests.unit.cli.command_line import streamshed

DOCUMENT = """
streamshed: 1
streams:
  ticks: {source: {rate: {rows_per_second: 10}}, time: timestamp}
queries:
  total: {from: ticks, window: {size: 10 seconds}, aggregates: {n: count(*), top: max(value)}, mode: subset, max_gap: 3}
  grouped: {from: ticks, window: {size: 10 seconds}, by: [value], aggregates: {n: count(*)}, mode: subset, max_gap: 3}
  whole: {from: ticks, window: {size: 10 seconds}, aggregates: {n: count(*)}}
  rows: {from: ticks}
run: {sink: {parquet: out}}
"""
GAPS = (3, 4, 8)
WINDOWS = 40


@pytest.fixture
def document(tmp_path: Path) -> Path:
    path = tmp_path / "network.yaml"
    path.write_text(DOCUMENT)
    return path


def written(folder: Path, rows: Iterable[Mapping[str, Any]], micro_batch: int = 0) -> None:
    """Write rows as the Parquet sink does; instants as old versions of Spark write them."""
    path = folder / "query_id=a1" / f"micro_batch_id={micro_batch}" / "part-00000.snappy.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(table(rows), path, use_deprecated_int96_timestamps=True)
    (path.parent / "_SUCCESS").touch()


def rows_of(number: int) -> list[dict[str, Any]]:
    if number in GAPS:
        return [row("gap", query, number, reason="overload") for query in ("total", "grouped")]
    found = [
        row("answer", "total", number, aggregate="n", value=100.0 + number, exact=True),
        row("answer", "total", number, aggregate="top", value=7.0, exact=True),
        row("answer", "whole", number, aggregate="n", value=1.0, exact=True),
    ]
    groups = [("1", 5.0), *([(None, 7.0 + number)] if number < 7 else [])]
    return found + [row("answer", "grouped", number, key=[key], aggregate="n", value=value) for key, value in groups]


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    folder = tmp_path / "out"
    for number in range(WINDOWS):
        written(folder, rows_of(number), number)
    return folder


def predicted(outcome_object: Mapping[str, Any], query: str) -> dict[tuple[Any, ...], Mapping[str, Any]]:
    return {
        (row["window_start"], *row["key"], row["aggregate"]): row
        for row in outcome_object["predictions"]
        if row["query"] == query
    }


def instant(number: int, form: str = "%Y-%m-%dT%H:%M:%S.000000Z") -> str:
    return (EPOCH + timedelta(seconds=10 * number)).strftime(form)


def window(number: int) -> str:
    return " to ".join(instant(edge, "%Y-%m-%dT%H:%M:%SZ") for edge in (number, number + 1))


@pytest.mark.usefixtures("answers")
def test_gaps_of_all_queries_are_predicted_from_the_documents_sink(document: Path) -> None:
    outcome = streamshed("predict", document, "--json")
    assert (outcome.code, outcome.errors) == (ExitCode.DONE, "")
    told = outcome.object
    assert (told["answers"], told["method"]) == (str(document.with_name("out")), "local")
    assert [one["query"] for one in told["queries"]] == ["total", "grouped"]
    total = predicted(told, "total")
    assert set(total) == {(instant(number), name) for number in GAPS for name in ("n", "top")}
    for number in GAPS:
        found = total[instant(number), "n"]
        assert found["predicted_value"] == pytest.approx(100 + number)
        assert found["window_end"] == instant(number + 1)
    grouped = predicted(told, "grouped")
    assert {(at, key): row["predicted_value"] for (at, key, _), row in grouped.items()} == {
        (instant(3), "1"): pytest.approx(5),
        (instant(4), "1"): pytest.approx(5),
        (instant(8), "1"): pytest.approx(5),
        (instant(3), None): pytest.approx(10),
        (instant(4), None): pytest.approx(11),
    }


@pytest.mark.usefixtures("answers")
def test_predictions_have_no_name_that_an_answer_has(document: Path) -> None:
    for found in streamshed("predict", document, "--json").object["predictions"]:
        assert found["kind"] == "prediction"
        assert found["standard_error"] >= 0
        assert found["method"] == "local"
        assert not {"value", "value_text", "lower", "upper", "exact"} & set(found)


@pytest.mark.usefixtures("answers")
def test_what_is_told_of_a_query(document: Path) -> None:
    [total] = streamshed("predict", document, "--json", "--query", "total").object["queries"]
    error = total.pop("median_relative_error")
    assert total == {
        "query": "total",
        "answers": 2 * (WINDOWS - len(GAPS)),
        "dropped_windows": 3,
        "predicted_windows": 3,
        "predictions": 6,
    }
    assert error is not None
    assert 0 <= error < 0.05


@pytest.mark.usefixtures("answers")
def test_a_person_reads_which_are_predicted_and_how_far_off(document: Path) -> None:
    outcome = streamshed("predict", document, "--method", "linear", "--query", "total")
    lines = outcome.output.splitlines()
    assert lines[0] == f"predictions, not answers: linear, from {document.with_name('out')}"
    assert lines[2].startswith("total: 3 windows dropped, 3 of them predicted (6 values); off by ")
    assert any(line.startswith(f"  {window(3)}  n predicted 103 ± ") for line in lines)
    assert len([line for line in lines if " predicted " in line and " ± " in line]) == 6


def test_of_many_only_the_latest_are_listed(document: Path, tmp_path: Path) -> None:
    rows = [row("gap" if number % 2 else "answer", "total", number, aggregate="n", value=1.0) for number in range(201)]
    written(tmp_path / "many", rows)
    lines = streamshed("predict", document, "--answers", tmp_path / "many").output.splitlines()
    assert "  ... 60 before (all of them: --json or --out)" in lines
    assert lines[-1].startswith(f"  {window(199)}")


@pytest.mark.usefixtures("answers")
def test_a_file_holds_rows_of_the_answer_schema_marked_as_predictions(document: Path, tmp_path: Path) -> None:
    out = tmp_path / "predictions" / "all.parquet"
    outcome = streamshed("predict", document, "--out", out)
    assert outcome.code == ExitCode.DONE
    assert outcome.output.splitlines()[-1] == f"written: {out}"
    assert " ± " not in outcome.output
    found = parquet.read_table(out)
    assert found.schema.names == [name for name, _ in ANSWER_SCHEMA]
    assert set(found["kind"].to_pylist()) == {"prediction"}
    assert set(found["exact"].to_pylist()) == {False}
    assert set(found["reason"].to_pylist()) == {"predicted: local"}
    assert {value for name in ("lower", "upper", "confidence", "value_text") for value in found[name].to_pylist()} == {
        None
    }
    assert len(found) == 11
    told = streamshed("predict", document, "--out", out, "--json").object
    assert (told["out"], "predictions" in told) == (str(out), False)


def test_predictions_are_never_made_of_predictions(document: Path, answers: Path) -> None:
    before = streamshed("predict", document, "--json").object
    strange = [row("prediction", "total", number, aggregate="n", value=1e9) for number in range(WINDOWS)]
    written(answers, strange, WINDOWS)
    assert streamshed("predict", document, "--json").object == before


def test_windows_of_another_shape_under_the_same_name_tell_nothing(document: Path, answers: Path) -> None:
    before = streamshed("predict", document, "--json").object
    of_old = []
    for number in range(WINDOWS):
        longer = {"window_end": EPOCH + timedelta(seconds=10 * number + 20)}
        of_old.append(row("answer", "total", number, aggregate="n", value=1e9) | longer)
        of_old.append(row("gap", "total", number) | longer)
        of_old.append(row("answer", "grouped", number, aggregate="n", value=1e9, key=["1", "2"]))
    written(answers, of_old, WINDOWS)
    assert streamshed("predict", document, "--json").object == before


def test_what_spark_has_not_finished_is_left_out(document: Path, answers: Path) -> None:
    before = streamshed("predict", document, "--json").object
    unfinished = answers / "query_id=a1" / "micro_batch_id=99" / "_temporary" / "0" / "part-00000.parquet"
    unfinished.parent.mkdir(parents=True)
    unfinished.write_bytes(b"PAR1")
    assert streamshed("predict", document, "--json").object == before


def test_answers_that_are_no_numbers_tell_nothing_of_others(document: Path, tmp_path: Path) -> None:
    strange = {10: np.nan, 20: np.inf, 30: None}
    rows = [
        row("gap", "total", number)
        if number % 4 == 1
        else row("answer", "total", number, aggregate="n", value=strange.get(number, 5.0))
        for number in range(41)
    ]
    written(tmp_path / "out", rows)
    found = streamshed("predict", document, "--json").object["predictions"]
    assert [one["predicted_value"] for one in found] == pytest.approx([5.0] * 10)


class TestRefused:
    def refused(self, *arguments: object) -> str:
        outcome = streamshed("predict", *arguments)
        assert (outcome.code, outcome.output) == (ExitCode.REFUSED, "")
        [line] = outcome.errors.splitlines()
        assert line.startswith("error: ")
        return line

    def test_no_folder(self, document: Path) -> None:
        assert "there is no such folder (has the network run with the sink parquet:" in self.refused(document)

    def test_an_empty_folder(self, document: Path, tmp_path: Path) -> None:
        (tmp_path / "out").mkdir()
        assert "there are no Parquet files in it" in self.refused(document)

    def test_other_parquet(self, document: Path, tmp_path: Path) -> None:
        parquet.write_table(pa.table({"ts": [1], "kind": ["x"]}), tmp_path / "other.parquet")
        line = self.refused(document, "--answers", tmp_path / "other.parquet")
        assert "these are no answers of a run, which have the columns query, window_start" in line

    def test_what_is_no_parquet(self, document: Path, tmp_path: Path) -> None:
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "notes.txt").write_text("hello")
        assert "cannot be read" in self.refused(document)

    def test_a_scheme_that_is_not_known(self, document: Path) -> None:
        assert "cannot be read" in self.refused(document, "--answers", "nowhere://bucket/answers")

    def test_no_row(self, document: Path, tmp_path: Path) -> None:
        written(tmp_path / "out", [])
        assert "there is not one row in them" in self.refused(document)

    def test_answers_of_another_network(self, document: Path, tmp_path: Path) -> None:
        written(tmp_path / "out", [row("answer", "totals", 1, aggregate="n", value=1.0)])
        line = self.refused(document)
        assert 'none is of a query of this network; they are of totals (did you mean "total"?)' in line

    @pytest.mark.usefixtures("answers")
    def test_a_query_that_is_not_there(self, document: Path) -> None:
        line = self.refused(document, "--query", "totl")
        assert 'no query "totl" with aggregates (did you mean "total"?)' in line

    @pytest.mark.usefixtures("answers")
    def test_a_query_for_rows(self, document: Path) -> None:
        assert 'no query "rows" with aggregates' in self.refused(document, "--query", "rows")

    @pytest.mark.usefixtures("answers")
    def test_a_query_whose_windows_are_never_dropped(self, document: Path) -> None:
        line = self.refused(document, "--query", "total", "--query", "whole")
        assert f'no gap of query "whole" among its {WINDOWS - len(GAPS)} answers: its mode is approximate' in line

    def test_a_query_that_lost_none(self, document: Path, tmp_path: Path) -> None:
        written(tmp_path / "out", [row("answer", "total", 1, aggregate="n", value=1.0)])
        assert "none of its windows was dropped" in self.refused(document, "--query", "total")
        assert "no window of any query was dropped" in self.refused(document)

    def test_a_document_that_does_not_say_where_answers_are(self, document: Path) -> None:
        document.write_text(DOCUMENT.replace("{parquet: out}", "console"))
        assert "say where they lie, with --answers FOLDER" in self.refused(document)

    @pytest.mark.parametrize("place", ["out/predictions.parquet", "out/query_id=a1/p.parquet", "link/p.parquet"])
    def test_predictions_among_answers(self, document: Path, answers: Path, tmp_path: Path, place: str) -> None:
        (tmp_path / "link").symlink_to(answers, target_is_directory=True)
        before = sorted(answers.rglob("*"))
        assert "lies among the answers" in self.refused(document, "--out", tmp_path / place)
        assert sorted(answers.rglob("*")) == before

    @pytest.mark.usefixtures("answers")
    @pytest.mark.parametrize("content", [b"hello", None])
    def test_something_else_is_never_overwritten(self, document: Path, tmp_path: Path, content: bytes | None) -> None:
        out = tmp_path / "out2.parquet"
        if content is None:
            parquet.write_table(table([row("answer", "total", 1, aggregate="n", value=1.0)]), out)
        else:
            out.write_bytes(content)
        before = out.read_bytes()
        assert "is there already and holds something else" in self.refused(document, "--out", out)
        assert out.read_bytes() == before
        assert "is a folder" in self.refused(document, "--out", tmp_path)

    @pytest.mark.usefixtures("answers")
    def test_where_nothing_can_be_written(self, document: Path) -> None:
        assert 'cannot write to "/proc/nowhere"' in self.refused(document, "--out", "/proc/nowhere/p.parquet")


@pytest.mark.usefixtures("answers")
def test_a_method_that_there_is_not(document: Path) -> None:
    outcome = streamshed("predict", document, "--method", "spline")
    assert outcome.code == ExitCode.USAGE
    assert "'spline' is not one of 'linear', 'local'" in outcome.errors


@pytest.mark.usefixtures("answers")
def test_json_is_json(document: Path) -> None:
    assert json.loads(streamshed("predict", document, "--json").output.strip())["method"] == "local"
