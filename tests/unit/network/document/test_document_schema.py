import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from streamshed.network.document.document_schema import DOCUMENT_SCHEMA, schema_text
from streamshed.network.model.query import AnswerMode
from streamshed.network.model.sources import FileFormat
from streamshed.network.run.run_settings import RunSettings
from streamshed.network.terms.aggregate import AggregateKind
from streamshed.network.terms.parsing import TextFormat
from streamshed.planning.plan.policies import POLICIES

ROOT = Path(__file__).parents[4]
DEFINITIONS: dict[str, Any] = DOCUMENT_SCHEMA["$defs"]
REFERENCE = (ROOT / "docs" / "document.md").read_text()
SECTIONS = {
    "stream": "Stream",
    "folder": "Source: folder",
    "delta": "Source: delta",
    "kafka": "Source: kafka",
    "rate": "Source: rate",
    "relation": "Relation",
    "parse_json": "Parse: JSON",
    "parse_csv": "Parse: CSV",
    "filter": "Filter",
    "map": "Map",
    "lookup": "Lookup",
    "semijoin": "Semijoin",
    "join": "Join",
    "apply": "Apply",
    "aggregate": "Aggregate",
    "query": "Query",
    "window": "Window",
    "run": "Run",
    "prior": "Run: prior",
    "elastic": "Run: elastic",
    "feed": "Run: feed",
    "parquet_sink": "Sink: Parquet",
    "delta_sink": "Sink: Delta",
    "memory_sink": "Sink: memory",
    "kafka_sink": "Sink: Kafka",
    "postgres_sink": "Sink: Postgres",
    "predictions": "Run: predictions",
}
TYPES = {
    "string": ("text", "duration", "SQL", "DDL", "type"),
    "integer": ("whole number",),
    "number": ("number",),
    "boolean": ("true or false",),
    "array": ("list",),
    "object": ("mapping", "by name", "SQL by"),
}


def objects() -> Iterator[tuple[str, dict[str, Any]]]:
    """Each mapping of the document with the heading that documents it."""
    yield "The document", DOCUMENT_SCHEMA
    for name, schema in DEFINITIONS.items():
        if schema.get("type") == "object":
            yield SECTIONS[name], schema


def keys() -> Iterator[tuple[str, str, dict[str, Any], bool]]:
    for heading, schema in objects():
        for key, value in schema["properties"].items():
            reference = value.get("$ref")
            found = DEFINITIONS[reference.rpartition("/")[2]] if reference else value
            yield heading, key, found, key in schema["required"]


def table(heading: str) -> dict[str, tuple[str, str, str]]:
    """Type, default and meaning by key, from the first table below a heading."""
    section = re.split(rf"^#+ {re.escape(heading)}\n", REFERENCE, flags=re.MULTILINE)[1]
    section = re.split(r"^#+ ", section, flags=re.MULTILINE)[0]
    rows = re.findall(r"^\| `(\w+)` \| (.+?) \| (.+?) \| (.+) \|$", section, flags=re.MULTILINE)
    return {key: (kind, default, meaning) for key, kind, default, meaning in rows}


def test_the_schema_is_valid() -> None:
    Draft202012Validator.check_schema(DOCUMENT_SCHEMA)


def test_the_published_schema_is_that_of_the_code() -> None:
    assert (ROOT / "docs" / "network.schema.json").read_text() == schema_text()
    assert json.loads(schema_text()) == DOCUMENT_SCHEMA


@pytest.mark.parametrize(("heading", "key", "schema", "required"), list(keys()))
def test_each_key_is_documented(heading: str, key: str, schema: dict[str, Any], required: bool) -> None:
    kind, default, meaning = table(heading)[key]
    types = schema.get("type", "const" if "const" in schema else "form")
    for one in [types] if isinstance(types, str) else types:
        assert one not in TYPES or kind.startswith(TYPES[one]) or any(word in kind for word in TYPES[one])
    assert (default == "required") == required
    if "default" in schema:
        written = yaml.safe_dump(schema["default"]).removesuffix("\n...\n").strip()
        assert default == {"{}": "none", "[]": "none"}.get(written, written)
    for choice in schema.get("enum", []):
        assert f"`{choice}`" in meaning


@pytest.mark.parametrize(("heading", "schema"), list(objects()))
def test_no_key_is_documented_that_does_not_exist(heading: str, schema: dict[str, Any]) -> None:
    inner = {key for value in schema["properties"].values() for key in value.get("properties", {})}
    assert set(table(heading)) == {*schema["properties"], *inner}


def test_each_key_is_described_in_the_schema() -> None:
    assert all(schema["description"] for _, _, schema, _ in keys())


def test_choices_are_those_of_the_code() -> None:
    run = DEFINITIONS["run"]["properties"]
    assert run["policy"]["enum"] == [policy.name for policy in POLICIES]
    assert DEFINITIONS["query"]["properties"]["mode"]["enum"] == list(AnswerMode)
    assert DEFINITIONS["folder"]["properties"]["format"]["enum"] == list(FileFormat)
    assert DEFINITIONS["relation"]["properties"]["format"]["enum"] == list(FileFormat)
    assert [DEFINITIONS[f"parse_{name}"]["required"][0] for name in TextFormat] == list(TextFormat)
    assert all(kind in DEFINITIONS["query"]["properties"]["aggregates"]["description"] for kind in AggregateKind)


def test_defaults_of_a_run_are_those_of_the_code() -> None:
    run = DEFINITIONS["run"]["properties"]
    settings = RunSettings()
    for key in ("trigger", "headroom", "policy", "advisory", "unscalable", "confidence", "host", "port"):
        assert run[key]["default"] == getattr(settings, key)
    assert run.keys() == RunSettings.__dataclass_fields__.keys()


def test_forms_are_told_apart_by_their_first_required_key() -> None:
    for name in ("operator", "stream"):
        schemas = [DEFINITIONS[name], *DEFINITIONS[name].get("properties", {}).values()]
        for forms in (schema["oneOf"] for schema in schemas if "oneOf" in schema):
            marks = [DEFINITIONS[form["$ref"].rpartition("/")[2]]["required"][0] for form in forms]
            assert len(set(marks)) == len(marks)
