import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from streamshed import __version__
from streamshed.cli.main import cli
from streamshed.cli.terminal.exit_code import ExitCode
from streamshed.cli.terminal.group import CommandGroup
from streamshed.errors import SourceUnavailableError
from tests.unit.cli.command_line import Outcome, streamshed


def run_command(command: click.Command, *arguments: str) -> Outcome:
    group = CommandGroup("test", params=[click.Option(["--debug"], is_flag=True)], callback=lambda **_: None)
    group.add_command(command)
    result = CliRunner().invoke(group, arguments)
    return Outcome(result.exit_code, result.stdout, result.stderr)


@click.command()
def failing() -> None:
    raise SourceUnavailableError("folder in/packets: no such folder")


@click.command()
def interrupted() -> None:
    raise KeyboardInterrupt


COMMANDS = cli.list_commands(click.Context(cli))


def test_version() -> None:
    outcome = streamshed("--version")
    assert outcome == Outcome(ExitCode.DONE, f"streamshed {__version__}\n", "")


def test_all_commands_are_there() -> None:
    assert set(COMMANDS) == {
        "checkpoint",
        "compact",
        "ctl",
        "demo",
        "page",
        "schema",
        "validate",
        "explain",
        "predict",
        "profile",
        "run",
        "replay",
        "simulate",
        "bench",
    }


@pytest.mark.parametrize("command", [(), *((name,) for name in COMMANDS)])
def test_every_command_has_help(command: tuple[str, ...]) -> None:
    outcome = streamshed(*command, "--help")
    assert outcome.code == ExitCode.DONE
    assert outcome.output.startswith(" ".join(("Usage: streamshed", *command)))


def test_a_misspelled_command_gets_a_question() -> None:
    outcome = streamshed("vlidate", "x.yaml")
    assert outcome.code == ExitCode.USAGE
    assert "No such command 'vlidate' (did you mean \"validate\"?)" in outcome.errors


def test_a_command_unlike_any_other_gets_none() -> None:
    assert "No such command 'qqq'." in streamshed("qqq").errors


def test_an_error_is_one_line() -> None:
    outcome = run_command(failing, "failing")
    assert outcome == Outcome(ExitCode.REFUSED, "", "error: folder in/packets: no such folder\n")


def test_debug_shows_where_an_error_was_raised() -> None:
    outcome = run_command(failing, "--debug", "failing")
    assert outcome.code == ExitCode.REFUSED
    assert "Traceback" in outcome.errors
    assert "raise SourceUnavailableError" in outcome.errors


def test_ctrl_c_before_the_end() -> None:
    assert run_command(interrupted, "interrupted") == Outcome(ExitCode.INTERRUPTED, "", "error: interrupted\n")


def test_the_module_is_the_command(tmp_path: Path) -> None:
    result = subprocess.run(
        [sys.executable, "-m", "streamshed", "validate", tmp_path / "missing.yaml", "--no-spark"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == ExitCode.REFUSED
    assert "No such file" in result.stdout
