"""`streamshed ctl`: documents are edited, left for a run, and answered by it."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from streamshed.cli.ctl.request_box import Reply, RequestBox
from streamshed.cli.main import cli
from streamshed.errors import IncompatibleCheckpointError, InvalidNetworkError
from streamshed.network.document.document import parse_network
from streamshed.network.document.edited_document import with_fragment, with_goals, without_query

RUNNING = """\
streamshed: 1
streams:
  ticks: {source: {rate: {rows_per_second: 10}}, time: timestamp, identity: [value]}
operators:
  large: {from: ticks, filter: value > 3}
queries:
  n: {from: large, window: {size: 10 seconds}, aggregates: {n: count(*)}, weight: 2}
"""
FRAGMENT = """\
operators:
  huge: {from: large, filter: value > 9}
queries:
  m: {from: huge, window: {size: 10 seconds}, aggregates: {n: count(*)}}
"""


def test_a_fragment_builds_on_what_runs() -> None:
    network = parse_network(with_fragment(RUNNING, FRAGMENT)).network
    assert [query.name for query in network.queries] == ["n", "m"]
    assert [str(node) for node in network.query("m").node.path[:3]] == ["ticks", "filter value > 3", "filter value > 9"]


def test_what_is_there_already_may_be_said_again_but_not_otherwise() -> None:
    again = FRAGMENT + "\n  # as it runs\n".replace("\n  #", "\n#")
    again = again.replace("operators:\n", "operators:\n  large: {from: ticks, filter: value > 3}\n")
    assert [query.name for query in parse_network(with_fragment(RUNNING, again)).network.queries] == ["n", "m"]
    with pytest.raises(InvalidNetworkError, match='operators: "large" is there already, and is another'):
        with_fragment(RUNNING, again.replace("value > 3", "value > 4"))
    with pytest.raises(InvalidNetworkError, match='"n" runs already'):
        with_fragment(RUNNING, FRAGMENT.replace("m:", "n:"))


@pytest.mark.parametrize(
    ("fragment", "says"),
    [
        ("query: {m: {from: large}}", 'unknown section of a fragment "query"'),
        ("operators: {}", "has no queries"),
        ("just text", "a mapping in YAML"),
        ("queries: [", "a mapping in YAML"),
    ],
)
def test_what_is_no_fragment_is_told(fragment: str, says: str) -> None:
    with pytest.raises(InvalidNetworkError, match=says):
        with_fragment(RUNNING, fragment)


def test_goals_change_and_none_is_the_default() -> None:
    changed = with_goals(RUNNING, "n", {"weight": None, "mode": "subset", "max_gap": 3})
    query = parse_network(changed).network.query("n")
    assert (query.weight, str(query.mode), query.gap_windows) == (1.0, "subset", 3)
    assert query.definition_id == parse_network(RUNNING).network.query("n").definition_id


def test_a_query_goes_and_its_operators_stay() -> None:
    rest = yaml.safe_load(without_query(with_fragment(RUNNING, FRAGMENT), "n"))
    assert list(rest["queries"]) == ["m"]
    assert list(rest["operators"]) == ["large", "huge"]
    with pytest.raises(InvalidNetworkError, match='did you mean "n"'):
        without_query(RUNNING, "nn")


@contextmanager
def serving(checkpoint: Path, hand_over: Callable[[str], Reply]) -> Iterator[RequestBox]:
    box, ended = RequestBox(str(checkpoint)), threading.Event()
    box.begin(RUNNING)

    def serve() -> None:
        while not ended.wait(0.02):
            box.serve(hand_over, explain)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield box
    finally:
        ended.set()
        thread.join()
        box.end()


def explain(document: str) -> Reply:
    return Reply(explanation=f"{len(parse_network(document).network.queries)} queries")


def never(document: str) -> Reply:
    raise AssertionError(f"it was asked to go on with {document}")


def ctl(*arguments: object) -> tuple[int, str]:
    result = CliRunner().invoke(cli, ["ctl", *map(str, arguments)])
    return result.exit_code, result.output


def test_the_run_is_asked_and_says_when_the_first_window_begins(tmp_path: Path) -> None:
    fragment = tmp_path / "more.yaml"
    fragment.write_text(FRAGMENT)
    asked: list[str] = []

    def hand_over(text: str) -> Reply:
        asked.append(text)
        return Reply(pause_seconds=1.25, first_windows={"m": "2024-01-01 00:00:10+00:00"})

    with serving(tmp_path / "checkpoint", hand_over) as box:
        code, said = ctl("add", tmp_path / "checkpoint", fragment)
        assert (code, "m: its first whole window begins 2024-01-01 00:00:10" in said, "1.2 s" in said) == (
            0,
            True,
            True,
        )
        assert box.running() == asked[0] == with_fragment(RUNNING, FRAGMENT)
        assert ctl("list", tmp_path / "checkpoint") == (0, "n: weight 2\nm\n")
        assert ctl("export", tmp_path / "checkpoint") == (0, asked[0])
        code, _ = ctl("change", tmp_path / "checkpoint", "n", "--weight", 5, "--max-error", "2 %")
        assert (code, json.loads(ctl("list", tmp_path / "checkpoint", "--json")[1])["n"]["max_error"]) == (0, "2 %")
        assert ctl("remove", tmp_path / "checkpoint", "n")[0] == 0
        assert ctl("list", tmp_path / "checkpoint") == (0, "m\n")


def test_statements_build_on_what_runs(tmp_path: Path) -> None:
    statements = tmp_path / "more.sql"
    statements.write_text(
        "CREATE VIEW huge AS SELECT * FROM large WHERE value > 9;\n"
        "CREATE QUERY m AS SELECT count(*) AS n FROM huge GROUP BY window(timestamp, '10 seconds');"
    )
    with serving(tmp_path / "checkpoint", lambda _: Reply(pause_seconds=0.0, first_windows={})) as box:
        assert ctl("add", tmp_path / "checkpoint", statements)[0] == 0
        assert parse_network(box.running()).network == parse_network(with_fragment(RUNNING, FRAGMENT)).network
        text = statements.read_text().replace("VIEW huge", "VIEW vast").replace("FROM huge", "FROM hueg")
        statements.write_text(text.replace("QUERY m", "QUERY k"))
        code, says = ctl("add", tmp_path / "checkpoint", statements)
        assert (code, "line 2, column 45" in says, 'did you mean "huge"' in says) == (1, True, True), says


def test_what_is_only_asked_about_changes_nothing(tmp_path: Path) -> None:
    fragment = tmp_path / "more.yaml"
    fragment.write_text(FRAGMENT)
    with serving(tmp_path / "checkpoint", never) as box:
        assert ctl("explain", tmp_path / "checkpoint") == (0, "1 queries\n")
        assert ctl("add", tmp_path / "checkpoint", fragment, "--explain") == (0, "2 queries\n")
        assert ctl("change", tmp_path / "checkpoint", "n", "--weight", 5, "--explain") == (0, "1 queries\n")
        code, says = ctl("change", tmp_path / "checkpoint", "n", "--mode", "subsett", "--explain")
        assert (code, 'did you mean "subset"' in says) == (1, True)
        assert box.running() == RUNNING


@pytest.mark.parametrize("error", [IncompatibleCheckpointError("it cannot be"), ValueError("it cannot be")])
def test_what_is_refused_changes_nothing(tmp_path: Path, error: Exception) -> None:
    def refuse(_: str) -> Reply:
        raise error

    with serving(tmp_path, refuse) as box:
        code, said = ctl("change", tmp_path, "n", "--weight", 5)
        assert (code, "it cannot be" in said) == (1, True)
        assert box.running() == RUNNING


def test_a_request_that_nobody_answers_is_withdrawn(tmp_path: Path) -> None:
    box = RequestBox(str(tmp_path))
    box.begin(RUNNING)
    code, said = ctl("remove", tmp_path, "n", "--timeout", "0.3 seconds")
    assert (code, "withdrawn" in said) == (3, True)
    box.serve(never, never)


def test_requests_of_an_earlier_run_are_forgotten(tmp_path: Path) -> None:
    box = RequestBox(str(tmp_path))
    box.begin(RUNNING)
    thread = threading.Thread(target=ctl, args=("remove", tmp_path, "n", "--timeout", "1 second"))
    thread.start()
    while not list(tmp_path.glob("ctl/requests/*")):
        time.sleep(0.01)
    later = RequestBox(str(tmp_path))
    later.begin(RUNNING)
    later.serve(never, never)
    thread.join()


def test_where_nothing_runs_that_is_told(tmp_path: Path) -> None:
    code, said = ctl("list", tmp_path)
    assert (code, "no document runs with the checkpoint" in said) == (1, True)


def test_a_change_of_nothing_is_a_wrong_command_line(tmp_path: Path) -> None:
    assert ctl("change", tmp_path, "n")[0] == 2


def test_a_document_in_sql_is_applied_as_the_equal_one_in_yaml(tmp_path: Path) -> None:
    applied: list[str] = []

    def hand_over(text: str) -> Reply:
        applied.append(text)
        return Reply()

    file = tmp_path / "network.sql"
    file.write_text(parse_network(RUNNING).network.to_sql())
    with serving(tmp_path / "checkpoint", hand_over):
        assert ctl("apply", tmp_path / "checkpoint", file)[0] == 0
    assert parse_network(applied[0]).network == parse_network(RUNNING).network


def test_of_two_changes_at_a_time_none_undoes_the_other(tmp_path: Path) -> None:
    """The second was made of the document that ran before the first was done."""
    more = tmp_path / "more.yaml"
    more.write_text(FRAGMENT)
    box, arguments = RequestBox(str(tmp_path)), [("add", tmp_path, more), ("change", tmp_path, "n", "--weight", 5)]
    box.begin(RUNNING)
    threads = [threading.Thread(target=ctl, args=of_command) for of_command in arguments]
    for thread in threads:
        thread.start()
    while len(list(tmp_path.glob("ctl/requests/*"))) < len(threads):
        time.sleep(0.01)
    while any(thread.is_alive() for thread in threads):
        box.serve(lambda _: Reply(), never)
        time.sleep(0.01)
    network = parse_network(box.running()).network
    assert ([query.name for query in network.queries], network.query("n").weight) == (["n", "m"], 5)
