"""Golden files of SQL: statements under a title, and below `---` what becomes of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from streamshed.network.document.document_reader import Language, Reading, read_document
from streamshed.network.document.document_writer import document_value
from streamshed.network.document.yaml_text import write_yaml

GOLDEN = Path(__file__).parents[3] / "golden" / "sql"
PREAMBLE = (GOLDEN / "preamble.sql").read_text()


@dataclass(frozen=True)
class GoldenCase:
    """Statements, and what is expected of them."""

    title: str
    sql: str
    outcome: str


def golden_cases(file: str) -> list[GoldenCase]:
    cases = []
    for block in (GOLDEN / file).read_text().split("### ")[1:]:
        title, _, body = block.partition("\n")
        sql, _, outcome = body.partition("\n---\n")
        cases.append(GoldenCase(title, sql, outcome.strip()))
    return cases


def read(sql: str, *, preamble: str = "") -> Reading:
    return read_document(preamble + sql, folder=GOLDEN, language=Language.SQL)


def problems_text(sql: str, *, preamble: str = "") -> str:
    """All problems, with lines counted from the first one behind the preamble."""
    before = preamble.count("\n")
    texts = []
    for problem in read(sql, preamble=preamble).problems:
        shown = "".join(f"\n    {line}" for line in (problem.excerpt or "").splitlines())
        texts.append(f"{(problem.line or 0) - before}:{problem.column}: {problem.described()}{shown}")
    return "\n".join(texts).replace(str(GOLDEN), "<folder>")


def outcome_text(sql: str) -> str:
    """What a document says that is equal, without streams and relations; or the problems."""
    document = read(sql, preamble=PREAMBLE).document
    if document is None:
        return problems_text(sql, preamble=PREAMBLE)
    said = document_value(document.network)
    return write_yaml({key: said[key] for key in ("operators", "queries") if key in said}).strip()
