from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from streamshed.joins.model.join_windows import JoinWindows
from streamshed.joins.windows.yields import Yields
from streamshed_bench.joins import joins, joins_picture
from streamshed_bench.joins.join_cases import JoinCase
from streamshed_bench.joins.join_runs import FULL, JoinRun
from streamshed_bench.joins.join_streams import SECOND, SetStreams
from streamshed_bench.joins.joins_by_clock import TimedRun, TimedRuns, run_by_clock, timed_cases, timed_figures
from streamshed_bench.joins.joins_figures import Runs, figures_of, to_document
from streamshed_bench.joins.joins_indexed import INDEXED, UNINDEXED, IndexedRuns, indexed_figures
from streamshed_bench.joins.joins_recorded import NAMES, RecordedRuns, recorded_figures
from streamshed_bench.joins.joins_skewed import SkewedJoin, skewed_figures
from streamshed_bench.joins.joins_streamed import STREAMED_FULL, StreamedJoin, StreamedJoins, streamed_figures
from streamshed_bench.joins.joins_throughput import Throughput, measure_throughput, throughput_figures

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
        micro_batches=((np.array([comparisons, comparisons]), np.array([0.75 * results, 0.25 * results])),) * seconds,
        yields=Yields.unknown(2),
        windows=JoinWindows(20 * SECOND, 0, SECOND),
    )


def made_up() -> Runs:
    by_case = {
        case: run_of(RESULTS[case.policy], sum(seconds for seconds, _ in case.course), case.budget)
        for case in joins.cases_of(quick=False)
    }
    papers = {case: (RESULTS[case.policy] / 2,) * 150 for case in joins.papers_cases_of(quick=False)}
    return Runs(by_case, {price: run_of(5700, 60) for price in joins.READ_PRICES}, papers)


def timed_runs() -> TimedRuns:
    def run(policy: str) -> TimedRun:
        return TimedRun(
            results=(RESULTS[policy],) * 150, seconds=(0.4,) * 150, adaptation_seconds=(0.1,) * 150, learned={}
        )

    return TimedRuns(
        budgets=dict.fromkeys(timed_cases(), 0.5), by_case={case: run(case.policy) for case in timed_cases()}
    )


def indexed_runs() -> IndexedRuns:
    def run(results: int) -> TimedRun:
        return TimedRun(results=(results,) * 260, seconds=(0.05,) * 260, adaptation_seconds=(0.01,) * 260, learned={})

    by_seconds = {kernel: {1.0: run(30), 200.0: run(10)} for kernel in (INDEXED, UNINDEXED)}
    return IndexedRuns(budget_seconds=0.1, by_seconds=by_seconds)


def recorded_runs() -> dict[str, RecordedRuns]:
    by_policy = {policy: [[run_of(results)]] for policy, results in RESULTS.items()}
    return dict.fromkeys(NAMES, RecordedRuns(by_policy=by_policy, profile=[(-1.0, 0.1), (1.0, 0.2)]))


MEASURED = Throughput(rows=200, results=1000, seconds=2.0, state_rows=10, state_bytes=500)


def streamed_joins() -> StreamedJoins:
    """Two rounds of 600 pairs: ours take 1 s and 2 s, Spark's 4 s and 6 s."""

    def join(*seconds: float, results: int = 1000) -> StreamedJoin:
        return StreamedJoin(seconds=seconds, results=results, state_bytes=10)

    return StreamedJoins(
        ours=(join(0.5, 0.5), join(1.0, 1.0)),
        native=(join(2.0, 2.0), join(3.0, 3.0, results=999)),
        counted_results=600,
        all_results=1000,
    )


def slow_joins() -> StreamedJoins:
    """A round in which ours take 4 s and Spark's 2 s."""
    ours, native = (StreamedJoin(seconds=(some,), results=1000, state_bytes=5) for some in (4.0, 2.0))
    return StreamedJoins(ours=(ours,), native=(native,), counted_results=600, all_results=1000)


def all_figures() -> dict[str, float]:
    return {
        **figures_of(made_up()),
        **timed_figures(timed_runs()),
        **indexed_figures(indexed_runs()),
        **recorded_figures(recorded_runs()),
        **throughput_figures(MEASURED),
        **streamed_figures({sizes.rows_per_second: streamed_joins() for sizes in STREAMED_FULL}),
        **skewed_figures(SkewedJoin(seconds=(1.0, 1.5), results=(5.0,), full_results=(10,), hot_share=0.9)),
    }


def test_streams_are_compared_round_by_round_and_rate_by_rate() -> None:
    found = streamed_figures({80_000: streamed_joins(), 10_000: slow_joins()})
    assert found["ratio_to_native"] == found["ratio_to_native_80000"] == 3.5
    assert (found["streamed_result_rows_per_second"], found["native_result_rows_per_second"]) == (450, 125)
    assert (found["ratio_to_native_10000"], found["streamed_result_rows_per_second_10000"]) == (0.5, 150)
    assert (found["streamed_state_bytes"], found["streamed_results_different"]) == (10, 1)


def test_figures_by_the_clock_and_of_recorded_streams() -> None:
    found = all_figures()
    assert (found["rate_adaptation_gain_by_clock"], found["direction_gain_by_clock"]) == (2, 1.5)
    assert (found["p95_time_ratio"], found["adaptation_share"]) == (0.8, 0.25)
    assert (found["basic_window_gain_indexed"], found["suricata_wazuh_share"]) == (3, 0.75)
    assert found["suricata_wazuh_most_share"] == pytest.approx(0.3)
    assert (found["mooncake_synthetic_gain"], found["result_rows_per_second"]) == (12, 500)


def test_figures_compare_policies() -> None:
    found = figures_of(made_up())
    assert found["rate_adaptation_gain"] == 2
    assert (found["time_correlation_gain"], found["direction_gain"], found["greedy_over_product"]) == (2, 1.5, 2)
    assert (found["greedy_gain_two_sided"], found["greedy_share_of_full"]) == (2, 0.75)
    assert (found["papers_direction_gain"], found["over_papers"]) == (1.5, 2)
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
    by_case = {case: everything.by_case[case] for case in joins.cases_of(quick=quick)}
    runs = replace(everything, by_case=by_case)
    joins_picture.draw_joins(
        tmp_path / "joins.png", runs=runs, timed=timed_runs(), indexed=indexed_runs(), recorded=recorded_runs()
    )
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


def test_throughput_counts_what_is_handed_out() -> None:
    found = measure_throughput(seed=0, rows=200, keys=50, measured_seconds=2)
    assert (found.rows, found.state_rows > 4000) == (800, True)
    assert found.results == pytest.approx(2 * 2 * 200 * 2000 / 50, rel=0.1)
    assert found.state_bytes > 30 * found.state_rows


def test_a_run_by_the_clock_gives_a_part_of_the_full_join() -> None:
    case = JoinCase(policy="greedy", course=((12, 60),), window_seconds=5)
    ticks = iter(range(10**6))
    run = run_by_clock(
        case.specification, case.micro_batches(0), "greedy", seconds=1.0, clock=lambda: float(next(ticks))
    )
    assert len(run.results) == len(run.seconds) == 12
    assert set(run.learned) == {"fixed", "row", "read", "comparison", "result"}
    full = replace(case, policy=FULL).run(0)
    assert sum(run.results) <= full.total_results
