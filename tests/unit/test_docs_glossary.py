import ast
from collections import Counter
from functools import cache
from itertools import chain
from typing import NamedTuple

import pytest

from tests.unit.documentation import ROOT, named, page, tables

ROWS = list(chain.from_iterable(tables(page("docs/glossary.md").text)))
TERMS = [row[0] for row in ROWS]
NAMES = [name for row in ROWS for name in named(row[2])]


class Names(NamedTuple):
    """What the shipped package defines, benchmarks apart."""

    modules: set[str]
    classes: Counter[str]
    definitions: Counter[str]
    fields: set[str]


@cache
def defined() -> Names:
    files = [file for file in (ROOT / "src/streamshed").rglob("*.py") if "bench" not in file.parts]
    trees = [ast.parse(file.read_text(encoding="utf-8")) for file in files]
    classes = [node for tree in trees for node in tree.body if isinstance(node, ast.ClassDef)]
    definitions = [
        node.name for tree in trees for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef)
    ]
    return Names(
        modules={file.name for file in files},
        classes=Counter(kind.name for kind in classes),
        definitions=Counter(definitions),
        fields={f"{kind.name}.{field}" for kind in classes for field in members(kind)},
    )


def members(kind: ast.ClassDef) -> set[str]:
    annotated = {
        node.target.id for node in kind.body if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }
    return annotated | {node.name for node in kind.body if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("name", NAMES)
def test_what_a_term_names_is_there(name: str) -> None:
    names = defined()
    assert name in names.modules or name in names.definitions or name in names.fields


@pytest.mark.parametrize("name", [name for name in NAMES if "." not in name])
def test_what_a_term_names_is_one_thing(name: str) -> None:
    assert defined().definitions[name] == 1


def test_no_two_classes_have_one_name() -> None:
    assert [name for name, count in defined().classes.items() if count > 1] == []


def test_no_term_is_there_twice() -> None:
    terms = [term for cell in TERMS for term in cell.split(" (")[0].split(", ")]
    assert [term for term, count in Counter(terms).items() if count > 1] == []


def test_terms_that_stand_for_nothing_in_the_code_are_few() -> None:
    assert [row[0] for row in ROWS if not row[2]] == ["row", "lag"]
