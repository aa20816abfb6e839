import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from streamshed_bench import BENCHMARKS
from streamshed_bench.inputs.dear_operators import DEAR_OPERATORS
from streamshed_bench.lasting.soak_figures import figures_of
from streamshed_bench.runs.burst_sizes import FULL
from streamshed_bench.runs.ratios import interleaved
from streamshed_bench.samples import accuracy, blocks, counted_rows, large_values, sampled_totals
from streamshed_bench.samples.accuracy_figures import Errors
from streamshed_bench.samples.coverage_figures import CONFIDENCES, Judged
from streamshed_bench.samples.coverage_figures import figures_of as figures_of_coverage
from streamshed_bench.speed import burst, changes, latency, overhead, planning, throughput
from streamshed_bench.speed.text_throughput import figures_of_text
from streamshed_bench.topics import kafka, start
from streamshed_bench.windows import prediction, windows
from streamshed_bench.workers import elastic, simulate
from streamshed_bench.workers.elastic_calibration import calibration_figures
from streamshed_bench.workers.elastic_sizes import WAYS
from tests.unit.bench.joins import test_joins
from tests.unit.bench.lasting import test_soak
from tests.unit.bench.nexmark import test_nexmark
from tests.unit.bench.samples import test_blocks
from tests.unit.bench.speed import (
    test_burst,
    test_changes,
    test_goodput,
    test_latency,
    test_text_throughput,
    test_throughput,
)
from tests.unit.bench.topics import test_kafka, test_start
from tests.unit.bench.windows import test_windows
from tests.unit.bench.workers import test_elastic, test_simulate
from tests.unit.documentation import ROOT, Page, expanded, first_names, named, page

PAGE = page("docs/benchmarks.md")
MEANINGS = page("benchmarks/README.md")
SCRIPT = ROOT / "scripts/benchmark_table.py"


def burst_figures() -> set[str]:
    outcome = test_burst.outcome()
    course = ((5.0, 5.0),)
    others = {**outcome.others, burst.UNSHED: course, burst.NATIVE: course}
    return set(burst.figures_of(replace(outcome, others=others), FULL))


def accuracy_figures() -> set[str]:
    one = accuracy.Measured(
        errors=Errors(largest=(0.1, 0.2), by_query={}),
        predicted_mean_error=0.1,
        group_error=0.1,
        time_ratios=(0.8,),
        effective_sampling_rates={},
    )
    runs = {(policy, 5.0): one for policy in accuracy.POLICIES}
    return set(accuracy.figures_of(runs, dict.fromkeys(DEAR_OPERATORS, 5.0), 1000.0))


def coverage_figures() -> set[str]:
    judged = [
        Judged(
            recording="packets",
            aggregate="n",
            sampling_rate=0.1,
            confidence=confidence,
            is_low=is_low,
            is_bounded=True,
            holds=True,
            half_width=0.1,
        )
        for confidence in CONFIDENCES
        for is_low in (True, False)
    ]
    return set(figures_of_coverage(judged))


def large_values_figures() -> set[str]:
    compared = [
        large_values.Compared(
            summed=summed.name,
            sampling_rate=0.1,
            total_errors=(2.0, 1.0),
            count_errors=(1.0, 1.1),
            rows=(100, 101),
            expected_ratio=0.5,
            holds=0.95,
        )
        for summed in sampled_totals.SUMS
    ]
    return set(large_values.figures_of(compared))


def windows_figures() -> set[str]:
    course = test_windows.course(q=test_windows.judged())
    ratios = windows.ratio_figures({1.0: [1.0] * 12, 0.5: [0.9] * 12})
    return {*windows.figures_of({("fares", 5.0): course}, 1000.0), *ratios, *test_windows.PLACES.figures()}


def prediction_figures() -> set[str]:
    errors = {"sample": 0.1, "linear": 0.3, "local": 0.2}
    compared = [
        prediction.Compared(
            recording=name,
            gap_windows=5,
            size=size,
            slide=size,
            drop_share=prediction.DROP_SHARES[-1],
            load=0.5,
            count_errors=errors,
            sum_errors=errors,
            error_ratio=1.0,
        )
        for name in prediction.RECORDED
        for size in (prediction.SIZE, prediction.SHORT)
    ]
    return set(prediction.figures_of(compared))


def counted_rows_figures() -> set[str]:
    compared = [
        counted_rows.Compared(
            summed=summed.name,
            query=query,
            sampling_rate=0.1,
            total_errors=(2.0, 1.0),
            count_errors=(1.0, 0.7),
            expected_ratio=0.5,
            holds=0.95,
        )
        for summed in sampled_totals.SUMS
        for query in (counted_rows.ALL, counted_rows.SOME)
    ]
    return set(counted_rows.figures_of(compared))


FIGURES = {
    "windows": windows_figures(),
    "prediction": prediction_figures(),
    "counted_rows": counted_rows_figures(),
    "blocks": set(blocks.figures_of(test_blocks.DRAWN, dict.fromkeys(blocks.BLOCK_ROWS, 1.0))),
    "accuracy": accuracy_figures(),
    "coverage": coverage_figures(),
    "large_values": large_values_figures(),
    "joins": set(test_joins.all_figures()),
    "simulate": set(
        simulate.figures_of(test_simulate.made_up(), test_simulate.course(), wall_seconds=1.0),
    ),
    "elastic": {
        *elastic.figures_of({way: test_elastic.made_up()["predictive"] for way in WAYS}),
        *test_elastic.made_up_kills().figures(),
        *calibration_figures(dict.fromkeys(WAYS, test_elastic.OFF)),
    },
    "planning": set(planning.figures_of({"uniform": {100: 1.0, 1000: 2.0}}, {1000: 0.1})),
    "throughput": {
        *throughput.figures_of(test_throughput.SPEEDS, test_throughput.CHECK),
        *figures_of_text(test_text_throughput.ROUNDS, test_text_throughput.CHECK, test_text_throughput.CPU),
    },
    "overhead": set(overhead.figures_of(interleaved(2), {sizes.rows: [1.0, 2.0, 2.0, 1.0] for sizes in overhead.FULL})),
    "burst": burst_figures(),
    "changes": set(changes.figures_of(test_changes.TIMES)),
    "latency": set(latency.figures_of(test_latency.RUNS)),
    "start": set(start.figures_of(test_start.OUTCOME)),
    "goodput": test_goodput.all_figures(),
    "nexmark": test_nexmark.all_figures(),
    "kafka": set(kafka.figures_of(test_kafka.OUTCOME)),
    "soak": set(figures_of(test_soak.looks())),
}


def table_script(*arguments: str | Path) -> int:
    return subprocess.run([sys.executable, SCRIPT, *arguments], check=False).returncode


@pytest.mark.parametrize("name", BENCHMARKS)
def test_every_figure_of_a_benchmark(name: str) -> None:
    shown = [figure for short in first_names(MEANINGS.table(name)) for figure in expanded(short)]
    assert sorted(shown) == sorted(FIGURES[name])


def test_every_benchmark_has_a_section_and_results() -> None:
    assert set(BENCHMARKS) <= PAGE.anchors
    assert {row[0].split(" ")[0] for row in PAGE.table("Results") if row[0]} == set(BENCHMARKS)


def test_every_figure_among_the_results() -> None:
    benchmark = ""
    for row in PAGE.table("Results"):
        benchmark = row[0].split(" ")[0] or benchmark
        assert set(named(row[1])) <= FIGURES[benchmark]


def test_the_results_are_those_of_the_files() -> None:
    assert table_script("--check") == 0


def test_a_run_takes_the_place_of_earlier_ones(tmp_path: Path) -> None:
    runs, shown = tmp_path / "runs", tmp_path / "page.md"
    shutil.copytree(ROOT / "docs/benchmarks", runs)
    shutil.copy(PAGE.path, shown)
    report = {"benchmark": "overhead", "quick": False, "text": False, "cluster": False, "commit": "0123456789"}
    figures = {"throughput_ratio": 0.9, "throughput_ratio_low": 0.875, "throughput_ratio_high": 0.99}
    (tmp_path / "overhead.json").write_text(json.dumps(report | {"figures": figures}))
    assert table_script("--add", tmp_path / "overhead.json", "--machine", "B", "--page", shown, "--runs", runs) == 0
    rows = Page(shown).table("Results")
    first = next(number for number, row in enumerate(rows) if row[0] == "overhead (B 0123456)")
    assert rows[first + 1][0] == ""
    assert [row[1:] for row in rows[first : first + 2]] == [
        ["`throughput_ratio`", "0.9", "≥ 0.98: **not met**"],
        ["`throughput_ratio_high`", "0.99", "≥ 0.99"],
    ]
    assert len(Page(shown).table("Results")) == len(PAGE.table("Results"))


def test_a_variant_has_bars_of_its_own(tmp_path: Path) -> None:
    runs, shown = tmp_path / "runs", tmp_path / "page.md"
    shutil.copytree(ROOT / "docs/benchmarks", runs)
    for earlier in runs.glob("throughput*.json"):
        earlier.unlink()
    shutil.copy(PAGE.path, shown)
    report = {"benchmark": "throughput", "quick": True, "text": True, "cluster": False, "commit": "0123456789"}
    (tmp_path / "r.json").write_text(json.dumps(report | {"figures": {"ratio_to_native_7": 11.0}}))
    assert table_script("--add", tmp_path / "r.json", "--machine", "B", "--page", shown, "--runs", runs) == 0
    row = next(row for row in Page(shown).table("Results") if row[0].startswith("throughput"))
    assert row == ["throughput `--quick --text` (B 0123456)", "`ratio_to_native_7`", "11", "≥ 10"]
