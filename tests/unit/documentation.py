"""Reading the documentation: its files, headings, tables, links and code."""

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).parents[2]

_CODE_BLOCK = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_INDENTED_BLOCK = re.compile(r"^ +```([^\n]*)\n(.*?)^ +```$", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^(#+) (.+)$", re.MULTILINE)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_QUOTED = re.compile(r"`([^`]+)`")


@dataclass(frozen=True)
class Page:
    path: Path

    @cached_property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def prose(self) -> str:
        return _INDENTED_BLOCK.sub("", _CODE_BLOCK.sub("", self.text))

    @property
    def anchors(self) -> set[str]:
        return {_anchor(title) for _, title in _HEADING.findall(self.prose)}

    @property
    def links(self) -> list[str]:
        return [link for link in _LINK.findall(self.prose) if "://" not in link]

    @property
    def blocks(self) -> list[tuple[str, str]]:
        """Language and text of each block of code; those in lists come last."""
        return [*_CODE_BLOCK.findall(self.text), *_INDENTED_BLOCK.findall(self.text)]

    def code(self, language: str) -> list[str]:
        return [code for block_language, code in self.blocks if block_language == language]

    @property
    def documents(self) -> list[str]:
        """Blocks of YAML that are a document of a network, or a part of one."""
        return [code for code in self.code("yaml") if "apiVersion:" not in code]

    @property
    def manifests(self) -> list[str]:
        """Blocks of YAML that describe objects of Kubernetes."""
        return [code for code in self.code("yaml") if "apiVersion:" in code]

    def section(self, title: str) -> str:
        """The text below a heading, up to the next one."""
        parts = re.split(r"^#+ (.+)$", self.text, flags=re.MULTILINE)
        found = dict(zip(parts[1::2], parts[2::2], strict=True))
        return found[title]

    def table(self, title: str, *, number: int = 0) -> list[list[str]]:
        """The cells of a table below a heading, without its head."""
        return tables(self.section(title))[number]


def page(path: str) -> Page:
    return Page(ROOT / path)


def pages() -> list[Page]:
    """All that people read: at the top, below `docs` and `examples`, and beside tests and benchmarks."""
    shown = ("*.md", "docs/**/*.md", "examples/**/*.md", "tests/README.md", "benchmarks/README.md")
    return [Page(path) for path in sorted(path for pattern in shown for path in ROOT.glob(pattern))]


def tables(text: str) -> list[list[list[str]]]:
    """The cells of each table, without its head."""
    return [table[1:] for table in tables_with_heads(text)]


def tables_with_heads(text: str) -> list[list[list[str]]]:
    """The cells of each table, its head first."""
    found: list[list[list[str]]] = []
    inside = False
    for line in text.splitlines():
        if not line.startswith("|"):
            inside = False
            continue
        if not inside:
            found.append([])
            inside = True
        found[-1].append([cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip()[1:-1])])
    return [[head, *rows] for head, _, *rows in found]


def named(cell: str) -> list[str]:
    """The names in a cell: what is set as code, without arguments."""
    return [text.split("(")[0] for text in _QUOTED.findall(cell)]


def expanded(name: str) -> list[str]:
    """Every name that a shorthand stands for.

    >>> expanded("{a,b}_share"), expanded("share")
    (['a_share', 'b_share'], ['share'])
    """
    before, brace, rest = name.partition("{")
    if not brace:
        return [name]
    choices, _, after = rest.partition("}")
    return [before + choice + end for choice in choices.split(",") for end in expanded(after)]


def first_names(table: list[list[str]]) -> list[str]:
    """The names in the first cell of each row."""
    return [name for row in table for name in named(row[0])]


def _anchor(title: str) -> str:
    kept = re.sub(r"[^\w\- ]", "", title.lower())
    return kept.replace(" ", "-")
