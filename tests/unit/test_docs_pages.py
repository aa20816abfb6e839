"""The documents as a whole: each is found from the README, and what code mentions is there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tests.unit.documentation import ROOT, Page, page, pages

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


def test_documents_that_code_mentions_are_there() -> None:
    files = [file for folder in SOURCES for file in (ROOT / folder).rglob("*.py")]
    mentioned = {(name, file.name) for file in files for name in MENTIONED.findall(file.read_text("utf-8"))}
    assert mentioned
    assert [(name, file) for name, file in sorted(mentioned) if not (ROOT / name).exists()] == []
