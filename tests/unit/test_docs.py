import ast
import dataclasses
import inspect
import json
import re
import subprocess
import sys

import pytest

from streamshed import errors
from streamshed.answering.table.answer_schema import ANSWER_SCHEMA, KINDS
from streamshed.cli.terminal.exit_code import ExitCode
from streamshed.control.journal import JournalEntry
from streamshed.network.words.state_families import STATE_FAMILIES
from streamshed.planning.plan.plan import Remedy
from streamshed.planning.plan.policies import POLICIES
from streamshed.planning.plan.work_shares import CATCHING_UP, REASONS, SPARED
from streamshed.spark.loop.journal_row import journal_row
from streamshed.spark.loop.run_status import JoinStatus, QueryStatus, RunStatus
from streamshed.spark.run import Run
from streamshed.spark.sinks import delta_sink, iceberg_sink, kafka_sink, postgres_sink, prediction_sink, sinks
from streamshed.spark.starting import start
from streamshed.statistics.micro_batch import MicroBatchOutcome
from streamshed_bench import BENCHMARKS
from tests.unit.documentation import ROOT, first_names, named, page, tables

ANSWERS, RUNNING, JOURNAL = (page(f"docs/{name}.md") for name in ("answers", "running", "journal"))
CLI = page("docs/cli.md")
ARCHITECTURE = page("ARCHITECTURE.md")


def journal_columns() -> list[str]:
    outcome = MicroBatchOutcome(
        micro_batch_id=0,
        offered_rows={"s": 1},
        admitted_rows={"s": 1.0},
        sampling_rates={"s": 1.0},
        processing_seconds=1.0,
        trigger_interval_seconds=2.0,
        started_at_seconds=0.0,
    )
    entry = JournalEntry(decision=None, outcome=outcome, model_seconds=1.0, learned=True)
    return list(journal_row(entry.to_row(), RunStatus(clock="time"), None))


def fields_and_properties(kind: type) -> set[str]:
    properties = inspect.getmembers(kind, lambda member: isinstance(member, property))
    return {field.name for field in dataclasses.fields(kind)} | {name for name, _ in properties}


def default_text(parameter: inspect.Parameter) -> str:
    match parameter.default:
        case inspect.Parameter.empty:
            return "required"
        case str() | bool() as value:
            return f"`{json.dumps(value)}`"
        case value:
            return f"`{value!r}`"


def test_every_column_of_an_answer() -> None:
    documented = [(named(row[0])[0], row[1]) for row in tables(ANSWERS.text)[0]]
    assert documented == list(ANSWER_SCHEMA)


def test_every_kind_of_answer() -> None:
    assert set(re.findall(r"^\*\*`(\w+)`\*\*", ANSWERS.section("Kinds"), re.MULTILINE)) == set(KINDS)


def test_every_keyword_of_start_and_its_default() -> None:
    keywords = {
        name: default_text(parameter)
        for name, parameter in inspect.signature(start).parameters.items()
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY
    }
    assert {named(row[0])[0]: row[2] for row in RUNNING.table("Settings")} == keywords


def test_every_policy() -> None:
    assert {policy.name for policy in POLICIES} <= set(named(RUNNING.section("Settings")))


def test_every_member_of_a_run() -> None:
    members = {name for name in vars(Run) if not name.startswith("_")}
    assert set(first_names(RUNNING.table("The handle"))) == members


@pytest.mark.parametrize(("number", "kind"), [(1, RunStatus), (2, QueryStatus), (3, JoinStatus)])
def test_every_field_of_a_status(number: int, kind: type) -> None:
    assert set(first_names(RUNNING.table("The handle", number=number))) == fields_and_properties(kind)


def test_every_sink() -> None:
    made = {
        name
        for module in (sinks, prediction_sink, delta_sink, iceberg_sink, kafka_sink, postgres_sink)
        for name, function in inspect.getmembers(module, inspect.isfunction)
        if function.__module__ == module.__name__ and not name.startswith("_")
    }
    assert set(first_names(RUNNING.table("Sinks"))) == made


def test_every_state_family() -> None:
    assert set(first_names(RUNNING.table("State families"))) == set(STATE_FAMILIES)


def test_every_error() -> None:
    found = {
        name
        for name, kind in inspect.getmembers(errors, inspect.isclass)
        if issubclass(kind, errors.StreamshedError) and kind is not errors.StreamshedError
    }
    assert set(first_names(RUNNING.table("Errors"))) == found


def test_every_column_of_the_journal() -> None:
    assert first_names(tables(JOURNAL.text)[0]) == journal_columns()


def test_every_reason_and_remedy() -> None:
    control = "".join(file.read_text() for file in (ROOT / "src/streamshed/control").glob("*.py"))
    reasons = {*REASONS.values(), SPARED, CATCHING_UP, *re.findall(r'reason="((?!guard_)\w+)"', control), "unplanned"}
    assert set(first_names(JOURNAL.table("Reasons"))) == reasons
    remedies = next(row[1] for row in tables(JOURNAL.text)[0] if named(row[0]) == ["remedy"])
    assert set(Remedy) <= set(named(remedies))


def test_every_clamp_of_the_guard() -> None:
    source = (ROOT / "src/streamshed/control/guard.py").read_text()
    clamps = set(re.findall(r'"(guard_\w+)"', source))
    assert clamps
    assert set(first_names(JOURNAL.table("The guard"))) == clamps


def test_the_reference_is_what_the_code_says() -> None:
    assert subprocess.run([sys.executable, ROOT / "scripts/reference.py", "--check"], check=False).returncode == 0


def test_every_benchmark() -> None:
    headings = re.findall(r"^## (.+)$", page("docs/benchmarks.md").text, re.MULTILINE)
    assert [heading for heading in headings if heading in BENCHMARKS] == list(BENCHMARKS)


def test_every_room() -> None:
    package = ROOT / "src/streamshed"
    documented = [tuple(row) for row in ARCHITECTURE.table("Rooms")]
    rooms = [file.parent for file in package.glob("*/**/__init__.py") if file.parent.parent != package]
    assert set(documented) == {
        (f"`{room.relative_to(package).as_posix()}`", ast.literal_eval(room.joinpath("__init__.py").read_text()))
        for room in rooms
    }


def test_every_exit_code() -> None:
    assert {row[0] for row in CLI.table("Exit codes")} == {str(int(code)) for code in ExitCode}
