from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from streamshed.bench import joins, joins_picture
from streamshed.bench.join_cases import JoinCase
from streamshed.bench.join_runs import FULL, JoinRun
from streamshed.bench.join_streams import SECOND, SetStreams
from streamshed.bench.joins_figures import Runs, figures_of, to_document
from streamshed.joins.join_windows import JoinWindows
from streamshed.joins.yields import Yields

RESULTS = {
    FULL: 8000,
    "random_drop": 500,
    "rate_adaptation": 1000,
    "time_correlation": 2000,
    "direction": 3000,
    "greedy": 6000,
}


def run_of(results: int, seconds: int = 150, comparisons: float = 1000.0) -> JoinRun:
    return JoinRun(
        results=(results,) * seconds,
        comparisons=(comparisons,) * seconds,
        state_bytes=(100,) * seconds,
        fractions=((0.5, 1.0),) * seconds,
        comparisons_by_cell=(2000.0, 1000.0),
        results_by_cell=(100.0, 10.0),
        yields=Yields.unknown(2),
        windows=JoinWindows(20 * SECOND, 0, SECOND),
    )


def made_up() -> Runs:
    by_case = {
        case: run_of(RESULTS[case.policy], sum(seconds for seconds, _ in case.course), case.budget)
        for case in joins.cases_of(quick=False)
    }
    return Runs(by_case, {price: run_of(5700, 60) for price in joins.READ_PRICES})


def test_figures_compare_policies() -> None:
    found = figures_of(made_up())
    assert found["rate_adaptation_gain"] == 2
    assert (found["time_correlation_gain"], found["direction_gain"], found["greedy_over_product"]) == (2, 1.5, 2)
    assert (found["greedy_gain_two_sided"], found["greedy_share_of_full"]) == (2, 0.75)
    assert (found["chosen_size_ratio"], found["most_comparisons_over_budget"]) == (0.95, 1)


def test_the_document_has_every_run() -> None:
    runs = made_up()
    document = to_document(runs)
    assert isinstance(document["runs"], list)
    assert len(document["runs"]) == len(runs.by_case)


@pytest.mark.parametrize("quick", [True, False])
def test_every_run_is_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quick: bool) -> None:
    drawn: list[Figure] = []
    monkeypatch.setattr(joins_picture, "write_png", lambda figure, _: drawn.append(figure))
    everything = made_up()
    runs = Runs({case: everything.by_case[case] for case in joins.cases_of(quick=quick)}, everything.chosen)
    joins_picture.draw_joins(tmp_path / "joins.png", runs=runs)
    lines = [len(axes.lines) for axes in drawn[0].axes]
    assert lines[:5] == [3, 2, 6, 5, 6]
    assert lines[5:7] == ([2, 0] if quick else [6, 4])


def test_popularity_is_drawn_as_asked() -> None:
    streams = SetStreams(skew=1.0, items=50, mean_size=1, shift_seconds=(10.0,), seed=1)
    left, right = next(iter(streams.micro_batches([(1, 20_000)])))
    counts = [np.bincount(np.asarray(side["k"]), minlength=50) for side in (left, right)]
    assert [int(count.argmax()) for count in counts] in ([0, 37], [1, 37], [0, 38], [1, 38])
    assert counts[0].max() / 20_000 == pytest.approx(1 / sum(1 / k for k in range(1, 51)), rel=0.3)


def test_sets_have_different_items() -> None:
    left, _ = next(iter(SetStreams(skew=0.8).micro_batches([(1, 500)])))
    sets = left["s"].to_pylist()
    assert all(len(set(one)) == len(one) for one in sets)
    assert np.mean([len(one) for one in sets]) == pytest.approx(5, abs=0.2)


def test_a_run_stays_within_its_budget() -> None:
    case = JoinCase(policy="greedy", course=((12, 60),), capacity=20, window_seconds=5)
    run = case.run(0, chooses_size=True)
    assert max(run.comparisons) <= 1.3 * case.budget
    assert run.windows.basic_microseconds >= SECOND
    assert run.results == case.run(0, chooses_size=True).results
