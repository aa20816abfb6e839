import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from streamshed.cli.given_statistics import statistics_for
from streamshed.cli.simulated_load import SHAPES, read_load
from streamshed.cli.simulation import SimulationRequest, simulated
from streamshed.cli.terminal.exit_code import ExitCode
from streamshed.elasticity.settings import ElasticSettings
from streamshed.elasticity.thresholds import Thresholds
from streamshed.elasticity.workers import WorkerLimits
from streamshed.network.document.document import load_network
from tests.unit.cli.command_line import streamshed

EXAMPLE = Path(__file__).parents[3] / "examples" / "packets_json.yaml"
PNG = b"\x89PNG"
SHORT = ("--load", "1x:2m,6x:4m,1x:2m", "--workers", "1..8", "--trigger", "5s", "--latency", "10s", "--initial", "1")


def test_it_tells_what_a_user_asks_before_a_launch() -> None:
    outcome = streamshed("simulate", EXAMPLE, *SHORT)
    assert outcome.code == ExitCode.DONE
    assert "guessed" in outcome.errors
    text = outcome.output
    assert text.splitlines()[0].startswith("1x:2m,6x:4m,1x:2m, 1× = 100 k rows/s, for 8 min 0 s (96 micro-batches)")
    assert "would have carried the largest load whole" in text
    assert "1 → 4  overload: utilization" in text
    assert "shed " in text
    assert "delay      median" in text
    assert "dns_packets" in text


def test_a_machine_reads_all_of_it() -> None:
    found = streamshed("simulate", EXAMPLE, *SHORT, "--json").object
    assert (found["controller"], found["micro_batches"], found["initial_workers"]) == ("predictive", 96, 1)
    assert 0 < found["rows_shed_share"] < 1
    assert found["workers_to_shed_nothing"] <= found["most_workers"] <= 8
    assert found["rescales"][0]["reason"] == "overload"
    assert {query["query"] for query in found["queries"]} >= {"tcp_traffic", "dns_packets"}
    assert {len(column) for column in found["course"].values()} == {96}


@pytest.mark.parametrize("option", [("--skew", "1"), ("--divisible",)])
def test_what_only_changes_tasks_needs_their_number(option: tuple[str, ...]) -> None:
    refused = streamshed("simulate", EXAMPLE, *SHORT, *option)
    assert refused.code == ExitCode.REFUSED
    assert "give --partitions" in refused.errors
    allowed = streamshed("simulate", EXAMPLE, *SHORT, *option, "--partitions", 8)
    assert allowed.code == ExitCode.DONE


def test_equal_seeds_give_equal_runs() -> None:
    def run(seed: int) -> str:
        return streamshed("simulate", EXAMPLE, *SHORT, "--seed", seed, "--failures", 300, "--json").output

    assert run(1) == run(1) != run(2)


def test_without_shedding_answers_are_late_instead() -> None:
    asked = (*SHORT, "--controller", "fixed", "--initial", 1, "--json")
    shed, late = (streamshed("simulate", EXAMPLE, *asked, flag).object for flag in ("--shed", "--no-shed"))
    assert shed["rows_shed_share"] > 0.2
    assert shed["time_over_latency_goal_seconds"] <= 15
    assert late["rows_shed_share"] == 0
    assert late["time_over_latency_goal_seconds"] > 200


def test_a_picture_is_drawn(tmp_path: Path) -> None:
    picture = tmp_path / "simulation.png"
    assert streamshed("simulate", EXAMPLE, *SHORT, "--picture", picture).code == ExitCode.DONE
    assert picture.read_bytes()[:4] == PNG


@pytest.mark.parametrize(
    ("arguments", "code", "problem"),
    [
        (["--workers", "0"], ExitCode.REFUSED, "at least one is needed, got a minimum of 0"),
        (["--workers", "4..2"], ExitCode.REFUSED, "the most there may be must be at least the fewest, 4, got 2"),
        (["--workers", "many"], ExitCode.USAGE, "such as 2..16"),
        (["--initial", "20"], ExitCode.REFUSED, "from 1 to 8 workers can run, got 20"),
        (["--thresholds", "0.4,0.2,0.8,0.9"], ExitCode.USAGE, "are release and initial the wrong way round?"),
        (["--thresholds", "0.4,0.8"], ExitCode.USAGE, "expected four numbers"),
        (["--controller", "predictiv"], ExitCode.USAGE, "predictiv"),
        (["--load", "flash_crow"], ExitCode.REFUSED, 'did you mean "flash_crowd"?'),
        (["--load", "burst:0x"], ExitCode.REFUSED, "factor must be above 0"),
        (["--load", "1x:60s,3:60s"], ExitCode.REFUSED, "step 2 of the load profile"),
        (["--trigger", "400 ms"], ExitCode.REFUSED, "no number of workers is enough"),
        (["--load", "1x:1s"], ExitCode.REFUSED, "for a trigger interval of 5 s at least"),
        (["--duration", "2m"], ExitCode.REFUSED, "largest after 2 min 0 s, and the simulation is to last 2 min 0 s"),
        (["--load", "ramp", "--duration", "49m"], ExitCode.REFUSED, "largest after 50 min 0 s"),
        (["--load", "flash_crowd", "--duration", "60s"], ExitCode.REFUSED, "longer --duration or none (2 h 0 min)"),
        (["--latency", "1 s"], ExitCode.REFUSED, "longer than the trigger"),
        (["--picture", "/nowhere/simulation.png"], ExitCode.REFUSED, "cannot be written"),
        (["--statistics", "/nowhere.json"], ExitCode.REFUSED, "cannot be read"),
    ],
)
def test_what_cannot_be_is_refused(arguments: list[str], code: ExitCode, problem: str) -> None:
    outcome = streamshed("simulate", EXAMPLE, *SHORT, *arguments)
    assert outcome.code == code
    assert problem in " ".join(outcome.errors.split())


def test_a_load_without_rows_is_refused(tmp_path: Path) -> None:
    known = tmp_path / "statistics.json"
    known.write_text(json.dumps({"streams": {"packets": {"rows_per_second": 0}}}))
    outcome = streamshed("simulate", EXAMPLE, *SHORT, "--statistics", known)
    assert outcome.code == ExitCode.REFUSED
    assert "no rows per second" in outcome.errors


def test_a_file_of_rates_is_a_load(tmp_path: Path) -> None:
    file = tmp_path / "rates.txt"
    file.write_text("# rows\n100\n300\n200\n")
    load = read_load(str(file), time="ts")
    assert (load.seconds, load.rows_per_second) == (3.0, 200.0)
    assert [load.factors.load_at(second) for second in (0.5, 1.5, 2.5)] == [0.5, 1.5, 1.0]


def test_a_part_of_a_recording_may_be_looked_at(tmp_path: Path) -> None:
    file = tmp_path / "rates.txt"
    file.write_text("100\n" * 60 + "300\n")
    assert streamshed("simulate", EXAMPLE, "--load", file, "--duration", "30s").code == ExitCode.DONE


def test_recorded_rows_are_a_load(tmp_path: Path) -> None:
    file = tmp_path / "rows.parquet"
    seconds = [0, 0, 0, 1, 2, 2]
    times = pa.array([second * 1_000_000 for second in seconds], pa.timestamp("us", "UTC"))
    pq.write_table(pa.table({"at": times}), file)
    load = read_load(str(file), time="at")
    assert (load.seconds, load.rows_per_second) == (3.0, 2.0)
    assert load.factors.rows_before(3) * 2 == pytest.approx(6)
    assert [load.factors.load_at(second) for second in (0.5, 1.5, 2.5)] == [1.5, 0.5, 1.0]


@pytest.mark.parametrize("shape", SHAPES)
def test_shapes_begin_at_one_and_reach_their_factor(shape: str) -> None:
    load = read_load(f"{shape}:4x", time="ts")
    every_minute = [load.factors.load_at(60.0 * minute) for minute in range(round(load.seconds / 60) + 1)]
    assert every_minute[0] == 1.0
    assert max(every_minute) == pytest.approx(4.0)
    assert min(every_minute) >= 1.0


ELASTIC = """
  elastic:
    least: 2
    most: 5
    controller: thresholds
    thresholds: {shed: 0.6}
    base_shed: 0.1
    start: 12 s
    add_after: 7 s
    release_after: 3 minutes
"""


def elastic_document(folder: Path) -> Path:
    text = EXAMPLE.read_text()
    assert text.count("\nrun:\n") == 1
    (folder / "known_hosts.parquet").write_bytes((EXAMPLE.parent / "known_hosts.parquet").read_bytes())
    path = folder / "network.yaml"
    path.write_text(text.replace("\nrun:\n", "\nrun:" + ELASTIC, 1))
    return path


def settings_of(path: Path, **options: Any) -> ElasticSettings:
    """What is simulated, by what stands in a document and what the command line says."""
    document = load_network(path)
    known = statistics_for(document.network.foundation, None)
    asked: dict[str, Any] = dict.fromkeys(("workers", "controller", "start")) | options
    request = SimulationRequest(
        load="1x:10s",
        shed=True,
        time_column="ts",
        move=0,
        skew=0.0,
        divisible=False,
        noise=0.0,
        stragglers=0.0,
        failures=0.0,
        wrong_by=1.0,
        seed=0,
        is_measured=False,
        **asked,
    )
    return simulated(document, known, request, progress=lambda _share: None).elastic


def test_what_the_document_says_of_workers_holds(tmp_path: Path) -> None:
    assert settings_of(elastic_document(tmp_path)) == ElasticSettings(
        limits=WorkerLimits(least=2, most=5),
        controller="thresholds",
        thresholds=Thresholds(shed=0.6),
        base_shed=0.1,
        start_seconds=12.0,
        add_after_seconds=7.0,
        release_after_seconds=180.0,
    )
    assert settings_of(EXAMPLE).limits == WorkerLimits(least=1, most=16)


def test_options_override_it(tmp_path: Path) -> None:
    found = settings_of(
        elastic_document(tmp_path), workers=(1, 8), controller="predictive", start=5_000_000, partitions=6
    )
    assert found.limits == WorkerLimits(least=1, most=8, partitions=6)
    assert (found.controller, found.start_seconds, found.add_after_seconds) == ("predictive", 5.0, 7.0)
    thresholds = Thresholds(shed=0.5)
    assert settings_of(elastic_document(tmp_path), thresholds=thresholds).thresholds == thresholds


def test_the_command_line_says_who_decided(tmp_path: Path) -> None:
    short = ("--load", "1x:1m", "--trigger", "5s", "--latency", "10s", "--json")
    found = streamshed("simulate", elastic_document(tmp_path), *short).object
    assert (found["controller"], found["thresholds"][2]) == ("thresholds", 0.6)
    refused = streamshed("simulate", elastic_document(tmp_path), *short, "--headroom", "0.5")
    assert refused.code == ExitCode.REFUSED
    assert "set shed to the headroom" in refused.errors


def test_what_is_guessed_of_joins_is_told(tmp_path: Path) -> None:
    short = ("--load", "1x:1m", "--trigger", "5s", "--latency", "10s", "--rows-per-second", "1000")
    found = streamshed("simulate", EXAMPLE.parent / "alerts_joined.yaml", *short)
    assert found.code == ExitCode.DONE
    (note,) = [line for line in found.errors.splitlines() if "is a joined stream" in line]
    assert note.startswith('note: "pairs"')
    assert "of its join take is guessed" in note
    assert "is a joined stream" not in streamshed("simulate", EXAMPLE, *short).errors
    known = tmp_path / "known.json"
    known.write_text(json.dumps({"joins": {"pairs": {"seconds_per_comparison": 6e-9}}}), encoding="utf-8")
    told, guessed = (
        streamshed("simulate", EXAMPLE.parent / "alerts_joined.yaml", *short, "--json", *more)
        for more in (("--statistics", known), ())
    )
    assert "is a joined stream" in told.errors
    assert "is guessed" not in told.errors
    (measured,), (believed,) = told.object["joins"], guessed.object["joins"]
    assert measured["comparing_seconds_per_second"] == pytest.approx(2 * believed["comparing_seconds_per_second"])


JOINED = EXAMPLE.parent / "alerts_joined.yaml"
ALERTS = ("--trigger", "5s", "--latency", "10s", "--workers", "1..16", "--rows-per-second", "2000", "--json")


def test_the_work_of_joins_grows_with_the_square_of_the_load() -> None:
    found = streamshed("simulate", JOINED, "--load", "1x:10m,4x:10m", *ALERTS, "--noise", 0, "--no-shed").object
    (join,) = found["joins"]
    # Half of the rows are of either asked stream; each side has as many as its own stream, or half of it.
    assert join["comparisons_per_second"] == pytest.approx(1000 * 500 * 65)
    assert join["is_sheddable"]
    course = found["course"]
    utilizations = zip(course["running"], course["offered_utilization"], strict=True)
    # 0.4 s of every 5 s are fixed.
    worked = dict(zip(course["started_at_seconds"], (at * (u - 0.08) for at, u in utilizations), strict=True))
    once, fourfold = worked[600.0], worked[1195.0]
    assert 14 < fourfold / once < 17
    assert fourfold == pytest.approx(16 * join["comparing_seconds_per_second"], rel=0.1)


def test_joins_that_are_never_shed_keep_all_of_their_work(tmp_path: Path) -> None:
    exact = tmp_path / "exact.yaml"
    text = JOINED.read_text(encoding="utf-8").replace("    policy: greedy\n    sampling: 0.1\n", "    mode: exact\n")
    exact.write_text(text, encoding="utf-8")
    asked = ("--load", "12x:10m", *ALERTS, "--controller", "fixed", "--initial", 1)
    in_part, whole = (streamshed("simulate", file, *asked).object for file in (JOINED, exact))
    assert [found["joins"][0]["is_sheddable"] for found in (in_part, whole)] == [True, False]
    # One worker has time for a fraction of all comparisons.
    assert in_part["joins"][0]["comparing_seconds_per_second"] * 12**2 > 3
    assert in_part["latency_seconds"]["0.5"] <= 10
    assert whole["latency_seconds"]["0.5"] > 60


def test_what_joins_take_is_told_to_people() -> None:
    short = ("--load", "1x:1m", "--trigger", "5s", "--latency", "10s", "--rows-per-second", "2000")
    text = streamshed("simulate", JOINED, *short).output
    assert "join pairs: 32.5 M comparisons/s at 1×, which take 0.098 of a worker" in text
    assert "may be done in part" in text
    assert "comparisons" not in streamshed("simulate", EXAMPLE, *short).output


def test_a_downtime_is_caught_up_with_and_what_is_too_old_is_skipped() -> None:
    asked = ("--load", "1x:20m", "--workers", "1..1", "--trigger", "5s", "--latency", "10s", "--noise", "0")
    down = ("--down", "2 min", "10 min")
    whole, aged = (
        streamshed("simulate", EXAMPLE, *asked, *down, *more, "--json").object for more in ((), ("--max-age", "60 s"))
    )
    assert whole["rows_skipped_share"] == 0
    # Of twenty minutes, ten less the last.
    assert aged["rows_skipped_share"] == pytest.approx(9 / 20, abs=0.01)
    starts = aged["course"]["started_at_seconds"]
    assert not any(120 < start < 720 for start in starts)
    assert whole["latency_seconds"]["1.0"] > 600
    assert aged["latency_seconds"]["1.0"] < 100
    text = streamshed("simulate", EXAMPLE, *asked, *down, "--max-age", "60 s").output
    assert "skipped    4" in text
