"""Statistics that a document names: what rows cost is known from the first one, and how many workers they take."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from streamshed.cli import run_session
from streamshed.cli.terminal.exit_code import ExitCode
from streamshed.control.first_workers import first_workers, known_work
from streamshed.control.loop import ControlLoop
from streamshed.control.settings import ControlSettings
from streamshed.elasticity.settings import ElasticSettings
from streamshed.errors import SinkUnavailableError
from streamshed.network.document.document import load_network
from streamshed.network.document.document_writer import network_to_document
from streamshed.network.model.network import QueryNetwork
from streamshed.network.run.settings import Settings
from streamshed.spark.operators import expression_checker
from streamshed.statistics.network_statistics import NetworkStatistics, QueryStatistics, StreamStatistics
from tests.unit.cli.command_line import streamshed

FIXED, READ, WORK = 0.2, 2e-6, 5e-6
"""Seconds of a micro-batch, and of a row."""
INITIAL, SHED, TRIGGER = 0.4, 0.8, 2.0

DOCUMENT = """
streamshed: 1
streams: {{s: {{source: {{rate: {{rows_per_second: 10}}}}, time: timestamp}}}}
queries: {{total: {{from: s, window: {{size: 10 seconds}}, aggregates: {{total: sum(value)}}}}}}
run: {{statistics: known.json, sink: {{memory: answers}}, elastic: {elastic}}}
"""


def _written(folder: Path, rows_per_second: float, elastic: str = "{most: 20, partitions: 20}") -> Path:
    known = NetworkStatistics(
        fixed_seconds=FIXED,
        streams={"s": StreamStatistics(rows_per_second=rows_per_second, read_seconds_per_row=READ)},
        queries={"total": QueryStatistics(seconds_per_row=WORK)},
    )
    (folder / "known.json").write_text(known.to_json())
    file = folder / "network.yaml"
    file.write_text(DOCUMENT.format(elastic=elastic))
    return file


def _workers(rows_per_second: float) -> int:
    """M: the fewest on which a micro-batch takes τ1 of the time, or halfway between what is fixed and τ2."""
    aim = max(INITIAL, (FIXED / TRIGGER + SHED) / 2) * TRIGGER
    return max(1, math.ceil(rows_per_second * TRIGGER * (READ + WORK) / (aim - FIXED) - 1e-9))


@pytest.mark.parametrize("rows_per_second", [1_000.0, 200_000.0, 400_000.0])
def test_explain_tells_how_many_workers_a_run_begins_with(tmp_path: Path, rows_per_second: float) -> None:
    told = streamshed("explain", _written(tmp_path, rows_per_second))
    assert (told.code, told.errors) == (ExitCode.DONE, "")
    enough = _workers(rows_per_second)
    # In twenty equal pieces m workers are as fast as 20/⌈20/m⌉.
    useful = next(workers for workers in range(1, 21) if 20 / math.ceil(20 / workers) >= enough)
    assert f"a new run begins with so many workers: {useful}" in told.output
    assert streamshed("explain", _written(tmp_path, rows_per_second), "--json").object["first_workers"] == useful


def test_without_elastic_nothing_is_said_of_workers(tmp_path: Path) -> None:
    file = _written(tmp_path, 1_000.0)
    file.write_text(file.read_text().split(", elastic")[0] + "}")
    assert "workers" not in streamshed("explain", file).output


def test_a_run_starts_with_what_the_file_tells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the arguments of `network.start`: the same number of workers as `explain` tells."""
    file, told = _written(tmp_path, 200_000.0), dict[str, Any]()

    def start(_network: QueryNetwork, _spark: object, **arguments: Any) -> None:
        told.update(arguments)
        raise SinkUnavailableError("nothing runs here")

    @contextmanager
    def session(*_arguments: object, **_settings: object) -> Iterator[None]:
        yield

    monkeypatch.setattr(run_session, "session", session)
    monkeypatch.setattr(expression_checker, "parser_of", lambda _spark: None)
    monkeypatch.setattr(QueryNetwork, "start", start)
    assert "nothing runs here" in streamshed("run", file).errors
    arguments = {name: told[name] for name in ("trigger", "elastic", "prior")}
    control = ControlSettings.of(Settings(**arguments), statistics=told["statistics"])
    loop = ControlLoop(load_network(file).network, control, lambda: 0.0)
    assert isinstance(told["elastic"], ElasticSettings)
    begun = first_workers(
        told["elastic"], wanted_before=None, work=known_work(loop.state, control), available_seconds=TRIGGER
    )
    assert begun == streamshed("explain", file, "--json").object["first_workers"] > 1


def test_a_simulation_goes_by_the_documents_file(tmp_path: Path) -> None:
    file = _written(tmp_path, 200_000.0)
    found = streamshed("simulate", file, "--load", "1x:20s", "--json")
    assert found.object["rows_per_second"] == 200_000.0
    assert "guessed" not in found.errors


def test_it_is_written_as_it_was_read(tmp_path: Path) -> None:
    document = load_network(_written(tmp_path, 1_000.0))
    assert document.run.statistics == str(tmp_path / "known.json")
    assert f"statistics: {tmp_path / 'known.json'}" in network_to_document(document.network, document.run)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    file = _written(tmp_path, 1_000.0)
    (tmp_path / "known.json").unlink()
    found = streamshed("explain", file)
    assert found.code == ExitCode.REFUSED
    assert f"{tmp_path / 'known.json'}: cannot be read" in found.errors
