from pathlib import Path

import pytest

from streamshed_bench import BENCHMARKS, BenchOptions
from streamshed_bench.errors import MissingRecordingsError
from streamshed_bench.inputs.recordings import recordings_folder
from streamshed_bench.samples.coverage import Bounds, judged_answers
from streamshed_bench.samples.coverage_data import RECORDINGS, Place
from streamshed_bench.samples.coverage_figures import CONFIDENCES, ENOUGH_ANSWERS, Judged, by_cell, figures_of

NEEDED = {recording.name for recording in RECORDINGS}
NOTHING = Bounds(lower=None, upper=None, is_low=True)


def judged(answers: dict[Place, Bounds], truths: dict[Place, float], confidence: float = 0.95) -> list[Judged]:
    return judged_answers(RECORDINGS[0], 0.1, confidence, answers, truths)


def test_without_a_folder_of_recordings_the_option_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(MissingRecordingsError, match=r"folder that holds fares/fares\.parquet, .* by --trace"):
        BENCHMARKS["coverage"](BenchOptions())


def test_no_folder_beside_the_working_directory_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    for recording in RECORDINGS:
        for folder in (Path(), Path("../shared/data")):
            recording.file(folder).parent.mkdir(parents=True)
            recording.file(folder).touch()
    with pytest.raises(MissingRecordingsError, match="by --trace"):
        recordings_folder(BenchOptions(), NEEDED)
    assert recordings_folder(BenchOptions(trace="../shared/data"), NEEDED) == Path("../shared/data")


def test_a_recording_that_is_missing_is_named(tmp_path: Path) -> None:
    for recording in RECORDINGS[1:]:
        recording.file(tmp_path).parent.mkdir()
        recording.file(tmp_path).touch()
    with pytest.raises(
        MissingRecordingsError, match=r"the recordings [^,]*packets\.parquet are missing: .* by --trace"
    ):
        BENCHMARKS["coverage"](BenchOptions(trace=str(tmp_path)))


def test_answers_without_bounds_are_counted_and_not_judged() -> None:
    places = [("n", "", second) for second in range(4)]
    answers = dict(
        zip(
            places,
            [
                Bounds(lower=9.0, upper=11.0, is_low=False),
                Bounds(lower=11.0, upper=12.0, is_low=True),
                NOTHING,
                NOTHING,
            ],
            strict=True,
        )
    )
    truths = dict.fromkeys(places[:3], 10.0)
    found = [one for confidence in CONFIDENCES for one in judged(answers, truths, confidence)]
    figures = figures_of(found)
    assert figures["unbounded_share"] == pytest.approx(1 / 3)
    assert (figures["answers"], figures["low_share"]) == (2.0, 0.5)
    assert (figures["coverage_at_95"], figures["low_coverage_at_95"]) == (1.0, 0.0)
    assert figures["median_half_width"] == pytest.approx(0.1)


def answers_of(recording: str, *, held: int, missed: int, is_low: bool = False, overlap: float = 1.0) -> list[Judged]:
    return [
        Judged(
            recording=recording,
            aggregate="n",
            sampling_rate=0.1,
            confidence=CONFIDENCES[0],
            is_low=is_low,
            is_bounded=True,
            holds=number < held,
            half_width=0.1,
            overlap=overlap,
        )
        for number in range(held + missed)
    ]


def test_each_cell_is_judged_by_itself_if_it_has_answers_enough() -> None:
    """Two cells that are off, one to either side, and in the mean are not; and one of few answers.

    Of 1000 answers 0.85 hold, where chance allows for 0.021 besides the 0.02; of windows that overlap by 100 for 0.2.
    """
    cells = [
        *answers_of("often", held=2000, missed=0),
        *answers_of("seldom", held=850, missed=150),
        *answers_of("overlapping", held=850, missed=150, overlap=100.0),
        *answers_of("seldom", held=0, missed=400, is_low=True),
        *answers_of("few", held=0, missed=ENOUGH_ANSWERS - 1),
        *answers_of("right", held=380, missed=20),
    ]
    figures = figures_of(cells)
    assert (figures["cells"], figures["cells_below"], figures["cells_above"]) == (4.0, 1.0, 1.0)
    assert (figures["least_cell_coverage_at_95"], figures["largest_cell_coverage_at_95"]) == (0.85, 1.0)
    seldom = next(cell for cell in by_cell(cells) if cell["recording"] == "seldom")
    assert (seldom["trusted"], seldom["low"], seldom["unbounded"]) == (1000, 400, 0)
    assert (seldom["trusted_hold"], seldom["low_hold"]) == (850, 0)


def test_bounds_of_what_has_no_true_answer_are_an_error() -> None:
    with pytest.raises(KeyError):
        judged({("n", "", 0): Bounds(lower=1.0, upper=2.0, is_low=False)}, {})
