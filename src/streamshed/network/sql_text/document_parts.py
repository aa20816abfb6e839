"""The document that statements add up to, and where in the text each of its values stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from streamshed.network.sql.sql_syntax import Token
from streamshed.network.sql_text.sql_tokens import SqlRefusal
from streamshed.network.words.document_problem import Findings, Keys, Mark

_VERSION = 1


@dataclass
class DocumentParts:
    """What was read so far of one text.

    Attributes:
        source: The text.
        findings: The problems so far, and where values stand.
        parts: What a document says, by its keys.
        statement: The statement that is read, as problems name it, such as 'query "tcp"'.
        taken: The names, in lower case, that no made-up operator may have.
    """

    source: str
    findings: Findings = field(default_factory=Findings)
    parts: dict[str, Any] = field(
        default_factory=lambda: {
            "streamshed": _VERSION,
            "streams": {},
            "relations": {},
            "operators": {},
            "queries": {},
            "run": {},
        }
    )
    statement: str = ""
    taken: set[str] = field(default_factory=set)

    def text(self, tokens: Sequence[Token]) -> str:
        """The text of tokens as it was written."""
        return self.source[tokens[0].start : tokens[-1].end] if tokens else ""

    def columns(self, tokens: Sequence[Token]) -> str:
        """The text of a list of columns, on one line and without comments, as Spark's DDL has it."""
        pieces, end = [], tokens[0].start if tokens else 0
        for token in tokens:
            pieces += [" " if token.start > end else "", token.text]
            end = token.end
        return "".join(pieces)

    def mark(self, keys: Keys, tokens: Sequence[Token], clause: str = "") -> None:
        """Note where a value stands, and in which clause of the statement."""
        start, end = (tokens[0].start, tokens[-1].end) if tokens else (0, 0)
        path = f"{self.statement}: {clause}" if clause and self.statement else clause or self.statement
        line = self.source.count("\n", 0, start) + 1
        self.findings.marks[keys] = Mark(line, path or None, self.source, start, end)

    def refuse(self, refusal: SqlRefusal, keys: Keys, tokens: Sequence[Token]) -> None:
        """Note a problem of a statement, and that what it declares is not known.

        Args:
            refusal: What is wrong.
            keys: What the statement declares.
            tokens: The statement.
        """
        here = refusal.tokens or tokens[-1:]
        problem_keys: Keys = (*keys, f"@{here[0].start if here else 0}")
        self.statement = self.statement or "statement"
        self.mark(problem_keys, here)
        self.findings.report(problem_keys, self.text(here), refusal.message, refusal.near_miss)
        if keys:
            part, name = str(keys[0]), str(keys[1])
            self.parts[part][name] = {}
            self.findings.unusable.add(keys)

    def fresh_name(self, stem: str) -> str:
        """A name for an operator that nobody named."""
        number = 1
        while f"{stem}_{number}".lower() in self.taken:
            number += 1
        name = f"{stem}_{number}"
        self.taken.add(name.lower())
        return name

    def add_operator(self, name: str, body: dict[str, object]) -> str:
        """Add an operator, and return its name."""
        self.parts["operators"][name] = body
        return name

    def rename_operator(self, made_up: str, name: str) -> None:
        """Give the operator that was added last a name of its own."""
        self.parts["operators"][name] = self.parts["operators"].pop(made_up)
        marks = {keys: mark for keys, mark in self.findings.marks.items() if keys[:2] == ("operators", made_up)}
        self.findings.marks |= {("operators", name, *keys[2:]): mark for keys, mark in marks.items()}

    @property
    def document(self) -> dict[str, Any]:
        """All that was read, without parts of which nothing is said."""
        needed = ("streams", "queries")
        return {key: value for key, value in self.parts.items() if value != {} or key in needed}
