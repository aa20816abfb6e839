"""Statements of SQL within a YAML document: what they say is added to what its other keys say."""

from __future__ import annotations

import re
from collections.abc import Mapping

from streamshed.network.document.yaml_text import YamlText
from streamshed.network.sql_text.sql_reader import Declaration, Within, read_sql_text
from streamshed.network.words.document_problem import Mark, Place

KEY = "sql"
"""The key of the statements."""


def with_statements(said: YamlText, given: Mapping[str, Declaration]) -> dict[str, object]:
    """Return what a document says, with what its statements say in the place of their text.

    Problems of the statements, and the places of their values, go to the findings of the document. What both say is
    reported, and stays as the other keys have it.

    Args:
        said: The document; it has statements.
        given: What its other keys say of streams, relations and operators, by name.
    """
    whole = dict(said.value) if isinstance(said.value, dict) else {}
    text = _in_place(str(whole.pop(KEY)), said.text, said.findings.marks[KEY,])
    queries = whole.get("queries")
    within = Within(said.findings, given, queries if isinstance(queries, dict) else ())
    value, _ = read_sql_text(text, within=within)
    for part, body in value.items():
        if not isinstance(body, dict):
            _add(whole, part, body, Place(said.findings, (part,)))
        elif isinstance(section := whole.get(part, {}), dict) and body:
            section = dict(section)
            for name, entry in body.items():
                _add(section, name, entry, Place(said.findings, (part, name)))
            whole[part] = section
    return whole


def _add(section: dict[str, object], key: str, value: object, place: Place) -> None:
    if section.setdefault(key, value) != value:
        place.report(key, f"the statements of {KEY} and another key of the document both say this")


def _in_place(value: str, document: str, mark: Mark) -> str:
    """The statements where they stand in the document, so that problems name its lines and columns."""
    written = document[mark.start : mark.end]
    if written[:1] == "|":
        header, _, statements = written.partition("\n")
        return re.sub(r"[^\n]", " ", document[: mark.start] + header) + "\n" + statements
    return "\n" * (mark.line - 1) + value
