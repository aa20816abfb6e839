#!/usr/bin/env python3
"""Builds the documentation as a site, from the Markdown that is read in the repository. `make docs` calls it.

The pages keep their places, so their links go on working. Added are: the navigation, which docs/index.md gives; a list
of files for each folder that a page links to; the API reference; `llms.txt`, with the Markdown that it lists.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import yaml
from api_pages import PAGES, api_texts
from site_links import broken_links

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
FOLDERS = ("docs", "examples")
PAGES_BESIDE = ("tests/README.md", "benchmarks/README.md")
INDEX = Path("docs/index.md")

LINK = re.compile(r"\]\((?P<path>[^)\s#]+)(?P<anchor>#[^)\s]*)?\)")
SECTION = re.compile(r"^## (?P<title>.+)\n(?P<body>(?:(?!## ).*\n?)*)", re.MULTILINE)
ENTRY = re.compile(r"^- \[(?P<title>[^\]]+)\]\((?P<path>[^)\s#]+)\)", re.MULTILINE)

Navigation = list[dict[str, "str | Navigation"]]


def stage(pages: Path) -> None:
    """Copy all that the site shows, and list the folders that have no page of their own."""
    for folder in FOLDERS:
        shutil.copytree(ROOT / folder, pages / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for page in PAGES_BESIDE:
        (pages / page).parent.mkdir()
        shutil.copy(ROOT / page, pages / page)
    for file in [*ROOT.glob("*.md"), ROOT / "LICENSE"]:
        shutil.copy(file, pages / ("index.md" if file.name == "README.md" else file.name))
    shutil.copytree(HERE / "static", pages / "assets")
    for page in list(pages.rglob("*.md")):
        page.write_text(
            LINK.sub(lambda link, page=page: _to_a_page(link, page, pages), page.read_text("utf-8")), "utf-8"
        )
    for page, text in api_texts(ROOT / "src"):
        target = pages / "docs/api" / f"{page.name}.md"
        target.parent.mkdir(exist_ok=True)
        target.write_text(text, "utf-8")


def _to_a_page(link: re.Match[str], page: Path, pages: Path) -> str:
    """The same link, to the page of a folder where it leads to a folder, and to the first page for the README."""
    target = Path(os.path.normpath(page.parent / link["path"]))
    if target == pages / "README.md":
        target = pages / "index.md"
    if not target.is_dir():
        return f"]({os.path.relpath(target, page.parent)}{link['anchor'] or ''})" if target.exists() else link[0]
    readme = target / "README.md"
    folder_page = readme if readme.exists() else target / "index.md"
    if not folder_page.exists():
        folder_page.write_text(folder_text(target), "utf-8")
    return f"]({os.path.relpath(folder_page, page.parent)})"


def folder_text(folder: Path) -> str:
    """A page that lists the files of a folder, documents by their titles."""
    files = sorted(file for file in folder.iterdir() if file.is_file() and file.name != "index.md")
    lines = [f"- [{title_of(file)}]({file.name})" for file in files]
    return f"# {folder.name.capitalize()}\n\n" + "\n".join(lines) + "\n"


def title_of(file: Path) -> str:
    """The heading of a document; of other files the name."""
    return file.read_text("utf-8").splitlines()[0].removeprefix("# ") if file.suffix == ".md" else file.name


def navigation(pages: Path) -> Navigation:
    """The sections and entries of the list of all documents, the API reference behind the reference."""
    text = (pages / INDEX).read_text("utf-8")
    entries: Navigation = [{"Home": "index.md"}, {"All documents": str(INDEX)}, {"Tutorial": "docs/tutorial.md"}]
    for section in SECTION.finditer(text):
        inside: Navigation = [_entry(entry, pages) for entry in ENTRY.finditer(section["body"])]
        if section["title"] == "Reference":
            inside += [{page.title: f"docs/api/{page.name}.md"} for page in PAGES]
        entries.append({section["title"]: inside})
    return [*entries, {"Changelog": "CHANGELOG.md"}]


def _entry(entry: re.Match[str], pages: Path) -> dict[str, str | Navigation]:
    path = Path(os.path.normpath(INDEX.parent / entry["path"]))
    if path.name != "index.md":
        return {entry["title"]: str(path)}
    others = sorted(page for page in (pages / path).parent.glob("*.md") if page.name != "index.md")
    return {entry["title"]: [str(path), *({title_of(page): str(page.relative_to(pages))} for page in others)]}


def llms_text(pages: Path) -> str:
    """The list of all documents for programs that read: https://llmstxt.org."""
    title, summary, description = (pages / "index.md").read_text("utf-8").split("\n\n")[:3]
    _, _, lists = LINK.sub(
        lambda link: f"]({os.path.normpath(INDEX.parent / link['path'])}{link['anchor'] or ''})",
        (pages / INDEX).read_text("utf-8"),
    ).partition("\n\n")
    return f"{title}\n\n> {summary}\n\n{description}\n\n{lists}"


def build(workplace: Path, out: Path) -> None:
    """Stage the pages in a folder, let the tool make the site, and add what programs read.

    Raises:
        subprocess.CalledProcessError: The tool found something wrong; it has said what.
    """
    pages = workplace / "pages"
    stage(pages)
    settings = (HERE / "mkdocs.yml").read_text("utf-8")
    (workplace / "mkdocs.yml").write_text(settings + "\n" + yaml.safe_dump({"nav": navigation(pages)}), "utf-8")
    subprocess.run(
        [Path(sys.executable).with_name("zensical"), "build", "--strict", "--config-file", "mkdocs.yml"],
        cwd=workplace,
        check=True,
    )
    shutil.copytree(workplace / "html", out)
    (out / "llms.txt").write_text(llms_text(pages), "utf-8")
    for page in pages.rglob("*.md"):
        if page.parent.name != "api":
            shutil.copy(page, out / page.relative_to(pages))


def problems_of(out: Path) -> Iterator[str]:
    """What is wrong with the site, whichever tool made it: a link that leads nowhere, a picture or script not in it."""
    for page in sorted(out.rglob("*.html")):
        for problem in broken_links(page, out):
            yield f"{page.relative_to(out)}: {problem}"


def main() -> int:
    """Build the site; 1 if something is wrong with it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "out/site", help="the folder of the site; replaced")
    out: Path = parser.parse_args().out.resolve()
    workplace = out.with_name(f"{out.name}-source")
    for folder in (out, workplace):
        shutil.rmtree(folder, ignore_errors=True)
    try:
        build(workplace, out)
    except subprocess.CalledProcessError as error:
        return error.returncode
    problems = list(problems_of(out))
    sys.stderr.writelines(f"{problem}\n" for problem in problems)
    sys.stdout.write(f"{len(list(out.rglob('*.html')))} pages: {out / 'index.html'}\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
