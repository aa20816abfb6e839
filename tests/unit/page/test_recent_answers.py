"""The latest answers of queries are held, of bounded number."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from streamshed.page.recent_answers import LEAST_OF_A_QUERY, MOST_OF_A_QUERY, MOST_OF_ALL, RecentAnswers
from streamshed.spark.checkpoint.answer_files import ANSWERS_FOLDER, AnswerFiles
from streamshed.spark.checkpoint.storage import Storage
from tests.unit.page.recorded import answers, tally


def write(path: Path, micro_batch_id: int, names: list[str], share: float = 1.0) -> None:
    files = AnswerFiles(Storage.at(str(path)).below(f"time/{ANSWERS_FOLDER}"))
    files.write(micro_batch_id, dict.fromkeys(names, tally(share)), answers(micro_batch_id, names, share))


def test_only_what_is_new_is_read_and_told(tmp_path: Path) -> None:
    recent = RecentAnswers(Storage.at(str(tmp_path)))
    write(tmp_path, 0, ["a", "b"])
    assert recent.look(["time"]).keys() == {"a", "b"}
    assert recent.look(["time"]) == {}
    write(tmp_path, 1, ["b"], share=0.5)
    figures = recent.look(["time"])
    assert figures == {"b": recent.figures["b"]}
    assert (figures["b"]["answers"], figures["b"]["exact_answers"], figures["b"]["relative_error"]) == (2, 1, 0.06)
    assert figures["b"]["last"]["upper"] == 1060.0
    assert [len(recent.of_query(query)) for query in ("a", "b", "c")] == [1, 2, 0]


def test_of_one_query_and_of_many_a_bounded_number_is_held(tmp_path: Path) -> None:
    recent = RecentAnswers(Storage.at(str(tmp_path)))
    for number in range(MOST_OF_A_QUERY + 3):
        write(tmp_path, number, ["a"])
        recent.look(["time"])
    held = recent.of_query("a")
    assert len(held) == MOST_OF_A_QUERY
    assert held[-1]["window_end"] - held[0]["window_end"] == 2 * (MOST_OF_A_QUERY - 1)
    names = [f"q{number}" for number in range(MOST_OF_ALL // LEAST_OF_A_QUERY)]
    write(tmp_path, MOST_OF_A_QUERY + 3, [*names, "a"])
    recent.look(["time"])
    assert len(recent.of_query("a")) == LEAST_OF_A_QUERY


# Quantiles of the normal distribution, as tables of it have them.
@pytest.mark.parametrize(
    ("confidence", "quantile"),
    [(0.5, 0.6745), (0.9, 1.6449), (0.95, 1.96), (0.99, 2.5758), (1 - 2**-53, 8.2924)],
)
@pytest.mark.parametrize("of_answer", [None, 0.0, 0.902, 0.997, 1.0])
def test_errors_that_are_expected_are_told_as_bounds_of_the_runs_confidence(
    tmp_path: Path, confidence: float, quantile: float, of_answer: float | None
) -> None:
    rows = answers(0, ["q"], 0.5).to_pylist()
    changed = pa.Table.from_pylist([rows[0] | {"confidence": of_answer}], answers(0, ["q"], 0.5).schema)
    folder = Storage.at(str(tmp_path)).below(f"time/{ANSWERS_FOLDER}")
    AnswerFiles(folder, confidence=confidence).write(0, {"q": tally(0.5)}, changed)
    recent = RecentAnswers(Storage.at(str(tmp_path)))
    assert recent.bound_factor == pytest.approx(1.96, abs=1e-3)
    recent.look(["time"])
    assert recent.bound_factor == pytest.approx(quantile, abs=1e-3)
