from importlib.metadata import EntryPoints

import pytest

from streamshed.cli.terminal import group
from streamshed.cli.terminal.exit_code import ExitCode
from tests.unit.cli.command_line import streamshed


@pytest.fixture
def nothing_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group, "entry_points", lambda **_: EntryPoints())


def test_a_package_brings_its_command() -> None:
    assert "bench" in streamshed("--help").output
    assert streamshed("bench", "--help").code == ExitCode.DONE


@pytest.mark.usefixtures("nothing_installed")
def test_without_the_package_the_error_names_the_extra() -> None:
    assert "bench" not in streamshed("--help").output
    outcome = streamshed("bench", "throughput", "--json", "r.json")
    assert outcome.code == ExitCode.REFUSED
    assert "pip install 'streamshed[bench]'" in outcome.errors


@pytest.mark.usefixtures("nothing_installed")
def test_other_unknown_commands_get_a_question() -> None:
    outcome = streamshed("benhc")
    assert outcome.code == ExitCode.USAGE
    assert 'did you mean "bench"?' in outcome.errors
