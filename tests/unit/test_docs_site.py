"""What the site is checked for once it is made. `make docs` makes it."""

import re
import runpy
from pathlib import Path

import pytest

from tests.unit.documentation import ROOT, page, pages

broken_links = runpy.run_path(str(ROOT / "scripts/site/site_links.py"))["broken_links"]


@pytest.mark.parametrize(
    ("link", "problem"),
    [
        ('<a href="b.html#there">', None),
        ('<a href="b.html">', None),
        ('<a href="#here">', None),
        ('<a href="folder/">', None),
        ('<a href="https://example.org">', None),
        ('<a href="c.html">', "c.html leads to no file"),
        ('<a href="b.html#gone">', "b.html#gone leads to no heading"),
        ('<a href="#gone">', "#gone leads to no heading"),
        ('<img src="a.png">', "a.png leads to no file"),
        ('<script src="https://example.org/a.js">', "https://example.org/a.js is loaded from the network"),
        ('<link href="//example.org/a.css">', "//example.org/a.css is loaded from the network"),
    ],
)
def test_each_link_leads_to_a_file_and_heading_of_the_site(link: str, problem: str | None, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/index.html").write_text("")
    (tmp_path / "b.html").write_text('<h2 id="there">')
    first = tmp_path / "a.html"
    first.write_text(f'<h1 id="here">{link}')
    assert list(broken_links(first, tmp_path)) == ([] if problem is None else [problem])


def test_every_document_is_in_the_navigation() -> None:
    first_links = re.findall(r"^- \[[^]]+\]\(([^)#]+)", page("docs/index.md").text, re.MULTILINE)
    listed = {file for link in first_links for file in _files_behind(link)}
    besides = {ROOT / name for name in ("README.md", "CHANGELOG.md", "docs/index.md", "docs/tutorial.md")}
    documents = {shown.path for shown in pages() if not shown.path.is_relative_to(ROOT / "examples")}
    assert documents - listed == besides


def _files_behind(link: str) -> list[Path]:
    target = (ROOT / "docs" / link).resolve()
    return sorted(target.glob("*.md")) if target.is_dir() else [target]
