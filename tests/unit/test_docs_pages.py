"""The documents as a whole: each is found from the README, and each piece of YAML is one of a document."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from streamshed.network.document.document_schema import DOCUMENT_SCHEMA
from streamshed.network.document.validation import validate_document
from streamshed.network.document.yaml_text import read_yaml
from tests.unit.documentation import ROOT, Page, page, pages

PARTS = Draft202012Validator({**DOCUMENT_SCHEMA, "required": [], "then": {}})
BLOCKS = [(shown.path.name, block) for shown in pages() for block in shown.code("yaml")]


MENTIONED = re.compile(r"\bdocs/[\w/-]+\.md\b")
SOURCES = ("src", "tests", "benchmarks", "examples", "scripts")


def linked_pages(shown: Page) -> Iterator[Path]:
    """The documents that a page links to, and those of a folder that it links to."""
    for path in {link.partition("#")[0] for link in shown.links} - {""}:
        target = (shown.path.parent / path).resolve()
        yield from sorted(target.glob("*.md")) if target.is_dir() else [target]


def test_every_document_is_found_from_the_readme() -> None:
    seen: set[Path] = set()
    waiting = [page("README.md").path]
    while waiting:
        path = waiting.pop()
        if path.suffix == ".md" and path.exists() and path not in seen:
            seen.add(path)
            waiting.extend(linked_pages(Page(path)))
    assert {shown.path for shown in pages() if shown.path.is_relative_to(ROOT / "docs")} - seen == set()


@pytest.mark.parametrize(("name", "block"), BLOCKS)
def test_yaml_has_the_keys_of_a_document(name: str, block: str) -> None:
    assert [f"{name}: {error.message}" for error in PARTS.iter_errors(read_yaml(block).value)] == []


@pytest.mark.parametrize(("name", "block"), [(name, block) for name, block in BLOCKS if "streams:" in block])
def test_yaml_with_streams_is_a_valid_document(name: str, block: str, tmp_path: Path) -> None:
    text = block if "streamshed:" in block else f"streamshed: 1\n{block}"
    assert [f"{name}: {problem}" for problem in validate_document(text, folder=tmp_path)] == []


def test_documents_that_code_mentions_are_there() -> None:
    files = [file for folder in SOURCES for file in (ROOT / folder).rglob("*.py")]
    mentioned = {(name, file.name) for file in files for name in MENTIONED.findall(file.read_text("utf-8"))}
    assert mentioned
    assert [(name, file) for name, file in sorted(mentioned) if not (ROOT / name).exists()] == []
