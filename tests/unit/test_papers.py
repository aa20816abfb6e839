"""What docs/papers.md says is here is there, and users come to it: from `start`, `explain` or the command line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.unit.callers import BENCHMARKS, Code
from tests.unit.documentation import page, tables_with_heads

CODE = Code()
_NOT_OF_RUNS = re.compile(r"\*\*library\*\*|\b(?:planned|to come)\b", re.IGNORECASE)
_COLUMN = "here"
_QUOTED = re.compile(r"`([^`]+)`")


@dataclass(frozen=True)
class Claim:
    """A cell that says where something is that runs use."""

    where: str
    cell: str

    @property
    def files(self) -> list[str]:
        """Of the package; examples are run by tests of their own, and oracles are tests."""
        return [text for text in self._quoted if text.endswith(".py") and not text.startswith(("examples/", "tests/"))]

    @property
    def names(self) -> list[str]:
        return [text for text in self._quoted if text.replace(".", "_").isidentifier() and not text.endswith(".py")]

    @property
    def _quoted(self) -> list[str]:
        """What is said to be planned or a library, to the end of its sentence, is left out."""
        sentences = re.split(r"(?<=[.;]) ", self.cell)
        return [text for one in sentences if not _NOT_OF_RUNS.search(one) for text in _QUOTED.findall(one)]


def _claims() -> Iterator[Claim]:
    for head, *rows in tables_with_heads(page("docs/papers.md").text):
        if _COLUMN in head:
            yield from (Claim(row[0], row[head.index(_COLUMN)]) for row in rows)


CLAIMS = list(_claims())
FILES = sorted({file for claim in CLAIMS for file in claim.files})
NAMES = sorted(
    {
        (file, name)
        for claim in CLAIMS
        for file in claim.files
        for name in claim.names
        if (module := CODE.module(file)) is not None and name in module.definitions
    }
)


def test_there_are_claims() -> None:
    assert len(FILES) > 100
    assert ("planning/rates/least_error.py", "equal_error_rates") in NAMES


@pytest.mark.parametrize("file", FILES)
def test_what_is_called_built_is_reached(file: str) -> None:
    module = CODE.module(file)
    assert module is not None, f"{file} is not there"
    if not module.name.startswith(BENCHMARKS):
        assert module.name in CODE.reached, f"nothing that users call imports {file}"


@pytest.mark.parametrize(("file", "name"), NAMES)
def test_what_is_named_has_a_caller(file: str, name: str) -> None:
    module = CODE.module(file)
    assert module is not None
    assert CODE.has_caller(module, name), f"nothing that users call mentions {name} of {file}"


def test_what_nobody_calls_is_found() -> None:
    """Of a benchmark."""
    module = CODE.module("streamshed_bench/windows/drop_queries.py")
    assert module is not None
    assert module.name not in CODE.reached
    assert not any(CODE.has_caller(module, name) for name in module.definitions)
    assert CODE.has_caller(CODE.modules["streamshed.planning.place.placement"], "edge_rates")
