import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from streamshed.cli.terminal.exit_code import ExitCode
from streamshed.network.document.document import load_network
from streamshed.statistics.guess import guessed_statistics
from tests.unit.cli.command_line import streamshed

EXAMPLE = Path(__file__).parents[3] / "examples" / "packets_json.yaml"
PNG = b"\x89PNG"


def test_where_samplers_go_is_told() -> None:
    outcome = streamshed("explain", EXAMPLE, "--load", 5, "--policy", "hoeffding")
    assert outcome.code == ExitCode.DONE
    assert "guessed" in outcome.errors
    lines = outcome.output.splitlines()
    assert lines[0].startswith("5 times what is sustained: ")
    assert lines[1] == "policy hoeffding (δ = 0.05): 1.6 s"
    assert any("× 0." in line and line.endswith("filter proto = 17") for line in lines)
    assert any(line.startswith("dns_packets") and line.endswith("filter dest_port = 53") for line in lines)


def test_a_machine_reads_the_same(tmp_path: Path) -> None:
    network = load_network(EXAMPLE).network
    known = tmp_path / "statistics.json"
    known.write_text(guessed_statistics(network).to_json())
    outcome = streamshed("explain", EXAMPLE, "--statistics", known, "--load", 2, "--json", "--trigger", "4s")
    assert (outcome.code, outcome.errors) == (ExitCode.DONE, "")
    plan = json.loads(outcome.output)
    assert (plan["policy"], plan["load_factor"], plan["trigger_interval_seconds"]) == ("least_error", 2.0, 4.0)
    assert [outlook["query"] for outlook in plan["outlooks"]] == [query.name for query in network.queries]
    assert plan["expected_seconds"] == pytest.approx(plan["budget_seconds"])


@pytest.mark.parametrize("command", ["explain", "simulate"])
def test_costs_that_were_measured_in_vain_are_noted(tmp_path: Path, command: str) -> None:
    known = guessed_statistics(load_network(EXAMPLE).network)
    name, packets = next(iter(known.streams.items()))
    cold = replace(known, streams={name: replace(packets, row_deviation=math.log(9.0))})
    file = tmp_path / "statistics.json"
    file.write_text(cold.to_json())
    short = [] if command == "explain" else ["--load", "1x:10s"]
    outcome = streamshed(command, EXAMPLE, "--statistics", file, *short)
    assert outcome.code == ExitCode.DONE
    assert f"what a row of stream {name} costs may well be off by a factor of 9.0" in outcome.errors


def test_gaps_that_a_run_predicts_are_told(tmp_path: Path) -> None:
    text = (EXAMPLE.parent / "extremes.yaml").read_text(encoding="utf-8")
    document, filling = tmp_path / "asked.yaml", tmp_path / "filling.yaml"
    document.write_text(text, encoding="utf-8")
    run = "\nrun:\n  sink: {parquet: answers}\n  predictions: {parquet: predicted, method: linear}\n"
    filling.write_text(text + run, encoding="utf-8")
    told = f"gaps predicted (linear, into {tmp_path / 'predicted'}):"
    busy, quiet = (streamshed("explain", filling, "--load", load).output for load in (1.3, 0.5))
    assert busy.rstrip().endswith(f"{told} largest_by_port, largest")
    assert quiet.rstrip().endswith(f"{told} none at this load")
    assert "predicted" not in streamshed("explain", document, "--load", 1.3).output
    assert json.loads(streamshed("explain", filling, "--json").output)["predictions"]["method"] == "linear"
    assert json.loads(streamshed("explain", document, "--json").output)["predictions"] is None


@pytest.mark.parametrize("command", ["explain", "simulate"])
def test_guesses_are_said_to_be_guesses(tmp_path: Path, command: str) -> None:
    given = tmp_path / "statistics.json"
    given.write_text(guessed_statistics(load_network(EXAMPLE).network).to_json())
    short = [] if command == "explain" else ["--load", "1x:10s"]
    for options, are_guessed in (([], True), (["--statistics", given], False)):
        assert streamshed(command, EXAMPLE, "--json", *short, *options).object["costs_are_guessed"] is are_guessed


def test_a_picture_is_drawn(tmp_path: Path) -> None:
    picture = tmp_path / "network.png"
    assert streamshed("explain", EXAMPLE, "--picture", picture).code == ExitCode.DONE
    assert picture.read_bytes()[:4] == PNG


@pytest.mark.parametrize(
    ("arguments", "code", "problem"),
    [
        (["--statistics", "/nowhere.json"], ExitCode.REFUSED, "statistics /nowhere.json: cannot be read"),
        (["--statistics", EXAMPLE], ExitCode.REFUSED, "packets_json.yaml: statistics: this is no JSON"),
        (["--picture", "/nowhere/network.png"], ExitCode.REFUSED, "cannot be written"),
        (["--trigger", "200 ms"], ExitCode.REFUSED, "no load is sustained"),
        (["--load", "0"], ExitCode.USAGE, "above 0"),
        (["--policy", "best"], ExitCode.USAGE, "best"),
    ],
)
def test_what_cannot_be_is_refused(arguments: list[str], code: ExitCode, problem: str) -> None:
    outcome = streamshed("explain", EXAMPLE, *arguments)
    assert outcome.code == code
    assert problem in outcome.errors


@pytest.mark.parametrize("command", ["explain", "simulate"])
def test_sql_is_told_the_same_of_as_the_document_that_is_equal(command: str) -> None:
    options = ["--json", "--load", 2] if command == "explain" else ["--load", "1x:1m,3x:1m", "--json"]
    outcomes = [streamshed(command, EXAMPLE.with_suffix(suffix), *options) for suffix in (".yaml", ".sql")]
    assert outcomes[0].code == outcomes[1].code == ExitCode.DONE
    assert outcomes[0].output == outcomes[1].output


TICKS = """
streamshed: 1
streams: {ticks: {source: {rate: {rows_per_second: 10}}, time: timestamp}}
queries: {total: {from: ticks, window: {size: 10 seconds}, aggregates: {n: count(*)}}}
"""


@pytest.mark.parametrize("age", [None, "5 minutes"])
def test_it_says_what_is_skipped_while_there_is_a_backlog(tmp_path: Path, age: str | None) -> None:
    document = tmp_path / "network.yaml"
    document.write_text(TICKS if age is None else f"{TICKS}run: {{max_age: {age}}}")
    outcome = streamshed("explain", document)
    assert outcome.code == ExitCode.DONE
    assert ("rows older than 5 minutes are skipped" in outcome.output) is (age is not None)
    assert streamshed("explain", document, "--json").object["max_age"] == age
