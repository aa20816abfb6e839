from pathlib import Path

import pytest

from streamshed_bench.nexmark.nexmark_figures import QuerySpeeds, UnderLoad, load_figures_of, query_figures
from streamshed_bench.nexmark.nexmark_load import exact_answers, within
from streamshed_bench.nexmark.nexmark_picture import draw_nexmark
from streamshed_bench.nexmark.nexmark_sizes import FULL, QUICK, NexmarkSizes
from streamshed_bench.nexmark.side_by_side import RowCheck
from streamshed_bench.nexmark.staged_events import spans_in_row, staged_events
from streamshed_bench.nexmark.statements import ASKED, NOT_EXPRESSIBLE
from streamshed_bench.speed.goodput_figures import LoadFigures

CHECK = RowCheck(compared=10, different=1)
SPEEDS = QuerySpeeds(ours=(300.0, 100.0, 200.0), native=(100.0, 100.0, 100.0), check=CHECK)
REFUSED = QuerySpeeds(ours=(300.0,), native=(), refusal="no distinct counts", check=CHECK)
UNDER = UnderLoad(
    figures=LoadFigures(useful_rows_per_second=100.0, kept_share=0.5, delay_ratio=0.6, utilization=0.8),
    error=0.02,
    windows_delivered=0.5,
    wrong=0,
)


def all_figures() -> set[str]:
    """The names of all figures of a full run."""
    speeds = query_figures(dict.fromkeys(ASKED, SPEEDS), cores=2)
    return {*speeds, *load_figures_of(dict.fromkeys(FULL.loaded.loads, UNDER), 100.0, cores=2)}


def test_ratios_are_of_the_same_round() -> None:
    figures = query_figures({"q1": SPEEDS, "q2": REFUSED}, cores=2)
    assert figures["q1_rows_per_second_per_core"] == pytest.approx(100.0)
    assert figures["q1_ratio_to_native"] == pytest.approx(2.0)
    assert figures["ratio_to_native"] == pytest.approx(2.0)
    assert (figures["rows_compared"], figures["rows_different"]) == (20.0, 2.0)


def test_what_cannot_be_asked_or_is_refused_has_no_figure() -> None:
    figures = query_figures({"q2": REFUSED}, cores=2)
    assert figures["q2_rows_per_second_per_core"] == pytest.approx(150.0)
    assert figures["q2_rows_per_second_per_core_native"] is None
    assert figures["q2_ratio_to_native"] is None
    assert figures["ratio_to_native"] is None
    assert all(figures[f"{name}_rows_per_second_per_core"] is None for name in NOT_EXPRESSIBLE)


def test_figures_of_loads_are_of_a_core() -> None:
    figures = load_figures_of({1.0: UNDER, 5.0: UNDER}, 400.0, cores=2)
    assert figures["rows_per_second_per_core_sustained"] == pytest.approx(200.0)
    assert figures["useful_rows_per_second_per_core_at_5"] == pytest.approx(50.0)
    assert figures["delay_ratio_at_1"] == pytest.approx(0.6)


def test_windows_that_reach_beyond_a_load_do_not_count() -> None:
    exact = {("q5", "maxn", end): 3.0 for end in (10, 12, 14)} | {("q7", "maxprice", end): 4.0 for end in (10, 20, 30)}
    assert within(exact, 10.0, 20.0, copies=3) == {("q5", "maxn", 12): 9.0, ("q7", "maxprice", 20): 4.0}


def test_exact_answers_are_of_all_windows(tmp_path: Path) -> None:
    start = 1_000_000_000_000_000
    spans = spans_in_row(2, 100_000, start_microseconds=start, seed=3)
    staged = staged_events(tmp_path, spans, ("bid",), lambda _: None)
    exact = exact_answers(staged.files["bid"])
    totals = {key[2] - start // 1_000_000: value for key, value in exact.items() if key[:2] == ("q15", "total_bids")}
    assert totals == {10: 92_000.0, 20: 92_000.0}
    hottest = [end - start // 1_000_000 for query, _, end in exact if query == "q5"]
    assert sorted(hottest) == list(range(-6, 21, 2))


@pytest.mark.parametrize("sizes", [FULL, QUICK])
def test_files_hold_whole_rounds(sizes: NexmarkSizes) -> None:
    assert sizes.events_per_file % 50 == 0
    assert sizes.checked_events_per_file % 50 == 0
    assert sizes.loaded.calibration_rows_per_file % 46 == 0
    assert set(sizes.queries) <= set(ASKED)


def test_a_picture_is_drawn_of_what_was_measured(tmp_path: Path) -> None:
    figures = query_figures({"q1": SPEEDS, "q2": REFUSED}, cores=2)
    figures |= load_figures_of({1.0: UNDER, 3.0: UNDER}, 100.0, cores=2)
    draw_nexmark(tmp_path / "nexmark.png", figures=figures)
    assert (tmp_path / "nexmark.png").read_bytes().startswith(b"\x89PNG")
