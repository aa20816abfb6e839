import re
import shlex
import tomllib
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import MagicMock, create_autospec

import click
import pandas as pd
import pytest

import streamshed as ss
from streamshed import spark
from streamshed.answering.table.answer_schema import ANSWER_SCHEMA
from streamshed.cli.main import cli
from streamshed.spark.run import Run
from tests.unit.documentation import ROOT, Page, first_names, page, pages, tables

PATH = re.compile(r"(?P<planned>planned: )?`(?P<path>(?:\w+/)+(?:\w+\.(?:py|md|json|yaml))?|\w+\.py)`")
BROKER_ROWS = SimpleNamespace(
    dtypes=[
        *[("key", "binary"), ("value", "binary"), ("topic", "string"), ("partition", "int")],
        *[("offset", "bigint"), ("timestamp", "timestamp"), ("timestampType", "int")],
    ]
)


def running() -> MagicMock:
    run: MagicMock = create_autospec(Run, instance=True)
    run.__enter__.return_value = run
    columns = first_names(tables(page("docs/journal.md").text)[0])
    run.journal.return_value = pd.DataFrame([dict.fromkeys(columns, 0) | {"shedding": True}])
    return run


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    """Nothing runs, but every call must fit the signature of what it calls."""
    session = MagicMock()
    session.readStream.format.return_value.option.return_value.load.return_value = BROKER_ROWS
    for name in ("start", "answers", "local_session"):
        monkeypatch.setattr(spark, name, create_autospec(getattr(spark, name)))
    run = running()
    monkeypatch.setattr(spark.start, "return_value", run)
    monkeypatch.setattr(spark.local_session, "return_value", session)
    no_answers = pd.DataFrame({name: [] for name, _ in ANSWER_SCHEMA})
    monkeypatch.setattr(pd, "read_parquet", lambda _: no_answers)
    return {"ss": ss, "spark": session, "run": run}


@pytest.mark.parametrize("shown", pages(), ids=lambda shown: shown.path.name)
def test_the_examples_in_python_fit_the_interface(shown: Page, engine: dict[str, object]) -> None:
    for code in shown.code("python"):
        exec(compile(code, shown.path.name, "exec"), engine)


def test_what_users_need_is_imported_from_the_top() -> None:
    shown = [*(code for page in pages() for code in page.code("python"))]
    shown += [file.read_text() for file in ROOT.glob("examples/*.py")]
    deep = re.findall(r"^from streamshed\.(?!spark import)\S+ import (.+)$", "\n".join(shown), re.MULTILINE)
    assert {name for names in deep for name in names.split(", ")}.isdisjoint(ss.__all__)
    assert all(getattr(ss, name).__name__ == name for name in ss.__all__ if not name.startswith("__"))


def test_the_example_of_the_readme_has_ten_lines() -> None:
    example = page("README.md").code("python")[0]
    assert len([line for line in example.splitlines() if line.strip()]) <= 10


def commands(shown: Page) -> Iterator[list[str]]:
    """The words of each command on a page."""
    for code in shown.code("sh"):
        for line in code.replace("\\\n", " ").splitlines():
            words = shlex.split(line, comments=True)
            for is_between, command in groupby(words, lambda word: word in {"&&", "&"}):
                if not is_between:
                    yield list(command)


COMMANDS = [command for shown in pages() for command in commands(shown)]
OURS = re.compile(r"(scripts|examples|docker|tests|benchmarks)/[\w./-]+")
"""A file or folder of this project."""

OTHERS = {"cd", "docker", "export", "mkdir", "opentelemetry-instrument", "pip", "python", "python3", "spark-submit"}
"""Programs that are not of this project: what they are given is looked at as far as it is."""


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_command_that_is_shown_is_of_a_program_and_of_files_that_are_there(command: list[str]) -> None:
    program = Path(command[0].rpartition("$(")[2].split()[0]).name
    assert program in {"make", "streamshed", "venv-pack", *OTHERS} or (ROOT / "scripts" / program).exists()
    ours = [match[0] for word in command if (match := OURS.match(word.rpartition("$(")[2]))]
    assert [path for path in ours if not (ROOT / path).exists()] == []
    extras = {extra for word in command for extra in re.findall(r"streamshed\[(\w+)\]", word)}
    assert extras <= tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"].keys()


@pytest.mark.parametrize("command", [words for words in COMMANDS if words[0] == "make"], ids=" ".join)
def test_a_target_of_make_that_is_shown_exists(command: list[str]) -> None:
    makefile = (ROOT / "Makefile").read_text()
    given = [word.partition("=")[0] for word in command[1:] if "=" in word]
    assert set(given) <= set(re.findall(r"\$\((\w+)\)", makefile))
    assert {word for word in command[1:] if "=" not in word} <= set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))


@pytest.mark.parametrize(
    "arguments",
    [words[number + 1 :] for words in COMMANDS for number, word in enumerate(words) if Path(word).name == "streamshed"],
    ids=" ".join,
)
def test_a_command_of_streamshed_that_is_shown_is_understood(arguments: list[str]) -> None:
    name, *options = arguments
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    command.make_context(name, options, parent=click.Context(cli))


def test_links_lead_somewhere() -> None:
    broken = [
        f"{shown.path.name}: {link}"
        for shown in pages()
        for link in shown.links
        if not _leads_somewhere(shown, link) and not link.endswith(".png")
    ]
    assert broken == []


def test_pictures_are_there() -> None:
    missing = [
        f"{shown.path.name}: {link}"
        for shown in pages()
        for link in shown.links
        if link.endswith(".png") and not (shown.path.parent / link).exists()
    ]
    assert missing == []


@pytest.mark.parametrize("name", ["ARCHITECTURE.md", "docs/papers.md"])
def test_what_is_built_is_there_and_what_is_planned_is_not(name: str) -> None:
    paths = PATH.finditer(page(name).text)
    assert [match[0] for match in paths if _is_there(match["path"]) is bool(match["planned"])] == []


def _leads_somewhere(shown: Page, link: str) -> bool:
    path, _, anchor = link.partition("#")
    target = shown if not path else Page((shown.path.parent / path).resolve())
    return target.path.exists() and (not anchor or anchor in target.anchors)


def _is_there(path: str) -> bool:
    return any((ROOT / below / path).exists() for below in ("", "src/streamshed", "benchmarks", "tests"))
