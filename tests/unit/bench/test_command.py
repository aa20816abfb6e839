import json
import signal
from pathlib import Path
from types import MappingProxyType

import pytest
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

import streamshed_bench as bench
from streamshed.cli.terminal.exit_code import ExitCode
from streamshed.errors import SinkUnavailableError
from streamshed_bench import BenchOptions, BenchResult
from streamshed_bench import command as bench_command
from streamshed_bench.errors import StuckQueryError, UnfinishedBenchmarkError, UnmeasurableCostError
from streamshed_bench.result_files import write_files
from tests.unit.cli.command_line import streamshed

ASKED: list[BenchOptions] = []


def draw(path: Path) -> None:
    path.write_bytes(b"PNG")


def measured(options: BenchOptions) -> BenchResult:
    ASKED.append(options)
    options.progress("measuring", 0.5)
    return BenchResult(figures={"ratio": 6.5, "other": None}, details={"runs": 3}, picture=draw)


@pytest.fixture(autouse=True)
def one_benchmark(monkeypatch: pytest.MonkeyPatch) -> None:
    ASKED.clear()
    monkeypatch.setattr(bench_command, "BENCHMARKS", MappingProxyType({"throughput": measured}))


def test_the_registry_knows_its_benchmarks() -> None:
    assert list(bench.BENCHMARKS) == [
        *("throughput", "overhead", "burst", "latency", "start", "changes", "goodput", "nexmark", "kafka", "soak"),
        "accuracy",
        *(
            "coverage",
            "large_values",
            "counted_rows",
            "blocks",
            "windows",
            "prediction",
            "planning",
            "joins",
            "simulate",
            "elastic",
        ),
    ]


def test_result_and_picture_are_written(tmp_path: Path) -> None:
    file = tmp_path / "out" / "throughput.json"
    outcome = streamshed("bench", "throughput", "--quick", "--seed", 7, "--trace", "p.parquet", "--json", file)
    assert outcome.code == ExitCode.DONE
    report = json.loads(file.read_text())
    assert report["figures"] == {"ratio": 6.5, "other": None}
    assert report["details"] == {"runs": 3}
    assert (report["benchmark"], report["quick"], report["seed"], report["trace"]) == (
        "throughput",
        True,
        7,
        "p.parquet",
    )
    assert report["cores"] >= 1
    assert {"streamshed", "python", "pyspark"} <= set(report["versions"])
    assert "commit" in report
    assert file.with_suffix(".png").read_bytes() == b"PNG"
    assert "ratio  6.5" in outcome.output
    assert "other  null" in outcome.output


def test_the_benchmark_gets_its_options(tmp_path: Path) -> None:
    streamshed("bench", "throughput", "--quick", "--seed", 7, "--json", tmp_path / "r.json")
    [options] = ASKED
    assert (options.quick, options.seed, options.trace) == (True, 7, None)


def test_a_cluster_is_for_those_that_run_on_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outcome = streamshed("bench", "throughput", "--cluster", "--json", tmp_path / "r.json")
    assert outcome.code == ExitCode.USAGE
    assert "throughput does not run on a cluster of its own; burst does" in outcome.errors
    monkeypatch.setattr(bench_command, "BENCHMARKS", MappingProxyType({"burst": measured}))
    assert streamshed("bench", "burst", "--cluster", "--json", tmp_path / "r.json").code == ExitCode.DONE
    assert [options.cluster for options in ASKED] == [True]


def test_text_is_for_those_that_have_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "r.json"
    assert streamshed("bench", "throughput", "--text", "--json", file).code == ExitCode.DONE
    assert [options.text for options in ASKED] == [True]
    assert json.loads(file.read_text())["text"] is True
    monkeypatch.setattr(bench_command, "BENCHMARKS", MappingProxyType({"burst": measured}))
    outcome = streamshed("bench", "burst", "--text", "--json", file)
    assert outcome.code == ExitCode.USAGE
    assert "burst does not run over lines of JSON; throughput does" in outcome.errors


def test_an_unknown_benchmark_gets_a_question(tmp_path: Path) -> None:
    outcome = streamshed("bench", "troughput", "--json", tmp_path / "r.json")
    assert outcome.code == ExitCode.USAGE
    assert 'did you mean "throughput"?' in outcome.errors


def test_an_unwritable_result_is_refused_before_anything_runs(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    outcome = streamshed("bench", "throughput", "--json", tmp_path / "file" / "r.json")
    assert outcome.code == ExitCode.REFUSED
    assert "cannot be written" in outcome.errors
    assert not ASKED


@pytest.mark.parametrize("name", ["r.png", "r.PNG"])
def test_a_result_that_the_picture_would_overwrite_is_refused(tmp_path: Path, name: str) -> None:
    outcome = streamshed("bench", "throughput", "--json", tmp_path / name)
    assert outcome.code == ExitCode.REFUSED
    assert f"name the result {tmp_path / 'r.json'}" in outcome.errors
    assert not ASKED


def test_what_is_no_file_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "r.png").mkdir()
    outcome = streamshed("bench", "throughput", "--json", tmp_path / "r.json")
    assert outcome.code == ExitCode.REFUSED
    assert "r.png: cannot be written: it is there and not a regular file" in outcome.errors
    assert not ASKED


@pytest.fixture
def one_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_options: BenchOptions) -> BenchResult:
        raise KeyboardInterrupt

    monkeypatch.setattr(bench_command, "BENCHMARKS", MappingProxyType({"throughput": fail}))


@pytest.mark.usefixtures("one_that_fails")
def test_a_benchmark_that_ends_early_leaves_no_result(tmp_path: Path) -> None:
    outcome = streamshed("bench", "throughput", "--json", tmp_path / "r.json")
    assert outcome.code == ExitCode.INTERRUPTED
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("one_that_fails")
def test_an_earlier_result_is_kept_and_told(tmp_path: Path) -> None:
    (tmp_path / "r.json").write_text("{}")
    outcome = streamshed("bench", "throughput", "--json", tmp_path / "r.json")
    assert f"{tmp_path / 'r.json'} is still the result of an earlier run" in outcome.errors
    assert (tmp_path / "r.json").read_text() == "{}"


def test_a_picture_that_cannot_be_drawn_leaves_no_result(tmp_path: Path) -> None:
    def fail(_path: Path) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(SinkUnavailableError, match=r"r\.json: cannot be written: No space left on device"):
        write_files(tmp_path / "r.json", {"figures": {}}, fail)
    assert list(tmp_path.iterdir()) == []


def test_nothing_but_result_and_picture_is_left(tmp_path: Path) -> None:
    streamshed("bench", "throughput", "--json", tmp_path / "r.json")
    assert {path.name for path in tmp_path.iterdir()} == {"r.json", "r.png"}


@pytest.mark.parametrize(
    "error",
    [
        PySparkException("No space left on device"),
        Py4JError("Answer from Java side is empty"),
        UnfinishedBenchmarkError("3 of 9 micro-batches within 1800 seconds"),
        StuckQueryError("no micro-batch within 300 seconds"),
        UnmeasurableCostError("more rows took no more time"),
    ],
)
def test_a_benchmark_that_does_not_get_through_has_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(_options: BenchOptions) -> BenchResult:
        raise error

    monkeypatch.setattr(bench_command, "BENCHMARKS", MappingProxyType({"burst": fail}))
    outcome = streamshed("bench", "burst", "--json", tmp_path / "r.json")
    assert outcome.code == ExitCode.FAILED
    assert outcome.errors.startswith("error: benchmark burst: ")
    assert str(error) in outcome.errors


def test_a_result_that_cannot_be_written_in_the_end_is_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_path: Path) -> None:
        raise OSError(28, "No space left on device")

    undrawable = {"burst": lambda _options: BenchResult(figures={}, picture=fail)}
    monkeypatch.setattr(bench_command, "BENCHMARKS", MappingProxyType(undrawable))
    assert streamshed("bench", "burst", "--json", tmp_path / "r.json").code == ExitCode.FAILED


def test_a_bug_is_not_called_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_options: BenchOptions) -> BenchResult:
        raise KeyError("a bug")

    monkeypatch.setattr(bench_command, "BENCHMARKS", MappingProxyType({"burst": fail}))
    with pytest.raises(KeyError, match="a bug"):
        streamshed("bench", "burst", "--json", tmp_path / "r.json")


def test_sigterm_stops_what_a_benchmark_has_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As Ctrl-C does: a cluster's processes have a session of their own, and outlive whoever does not kill them."""
    stopped = []

    def with_a_cluster(_: BenchOptions) -> BenchResult:
        try:
            signal.raise_signal(signal.SIGTERM)
        finally:
            signal.raise_signal(signal.SIGTERM)
            stopped.append("cluster")
        raise AssertionError("it was not ended")

    monkeypatch.setattr(bench_command, "BENCHMARKS", MappingProxyType({"elastic": with_a_cluster}))
    before = signal.signal(signal.SIGTERM, lambda *_: stopped.append("not at all"))
    try:
        outcome = streamshed("bench", "elastic", "--json", tmp_path / "r.json")
        assert (outcome.code, stopped) == (ExitCode.INTERRUPTED, ["cluster"])
        signal.raise_signal(signal.SIGTERM)
        assert stopped[-1] == "not at all"
    finally:
        signal.signal(signal.SIGTERM, before)
