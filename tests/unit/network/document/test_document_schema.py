from typing import Any

from jsonschema import Draft202012Validator

from streamshed.network.document.document_schema import DOCUMENT_SCHEMA
from streamshed.network.model.query import AnswerMode
from streamshed.network.run.run_settings import RunSettings
from streamshed.network.source.sources import FileFormat
from streamshed.network.terms.aggregate import AggregateKind
from streamshed.network.terms.parsing import TextFormat
from streamshed.planning.plan.policies import POLICIES

DEFINITIONS: dict[str, Any] = DOCUMENT_SCHEMA["$defs"]


def test_the_schema_is_valid() -> None:
    Draft202012Validator.check_schema(DOCUMENT_SCHEMA)


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
