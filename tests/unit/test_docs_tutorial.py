"""The tutorial, as far as it goes without Spark: its files are written, and its commands print what it shows."""

import importlib
import re
import shlex
import sys
from pathlib import Path

import pandas as pd
import pytest

from tests.unit.cli.command_line import Outcome, streamshed
from tests.unit.documentation import page

TUTORIAL = page("docs/tutorial.md")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (document,) = TUTORIAL.code("yaml")
    (tmp_path / "visits.yaml").write_text(document)
    (tmp_path / "scoring.py").write_text(TUTORIAL.code("python")[0])
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def ran(command: str, *options: str) -> Outcome:
    (line,) = (
        line for code in TUTORIAL.code("sh") for line in code.splitlines() if line.startswith(f"streamshed {command}")
    )
    return streamshed(*shlex.split(line)[1:], *options)


def shown_behind(command: str) -> str:
    """The output that the page shows below a command."""
    (shown,) = re.findall(
        rf"^streamshed {command}[^\n]*\n```\n\n```text\n(.*?)^```$", TUTORIAL.text, re.MULTILINE | re.DOTALL
    )
    return str(shown)


@pytest.mark.usefixtures("folder")
def test_the_network_is_valid() -> None:
    assert ran("validate", "--no-spark").output == shown_behind("validate")


@pytest.mark.usefixtures("folder")
def test_what_is_shed_is_what_is_shown() -> None:
    assert ran("explain").output == shown_behind("explain")


def test_a_slip_is_told_as_the_page_says(folder: Path) -> None:
    document = folder / "visits.yaml"
    document.write_text(document.read_text().replace("max(score)", "max(scor)"))
    outcome = ran("validate", "--no-spark")
    assert outcome.code == 1
    assert 'did you mean "score"?' in outcome.output


@pytest.mark.usefixtures("folder")
def test_the_function_takes_a_series_and_returns_one() -> None:
    scores = importlib.import_module("scoring").score(pd.Series([1, 2, 98]))
    del sys.modules["scoring"]
    assert scores.between(0, 1).all()
    assert scores[0] == scores[2]
