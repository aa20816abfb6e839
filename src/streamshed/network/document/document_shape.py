"""Whether a document has the shape that its JSON Schema asks for; each deviation is one problem."""

from collections.abc import Iterator, Mapping
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError

from streamshed.errors import closest_name
from streamshed.network.document.document_schema import DOCUMENT_SCHEMA
from streamshed.network.words.document_problem import Findings, Keys, Place
from streamshed.network.words.keywords import advice_on, our_word
from streamshed.network.words.schema_forms import Schema

_KINDS = {
    "object": "a mapping",
    "array": "a list",
    "string": "text",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
}
_BOUNDS = {
    "minimum": "at least",
    "exclusiveMinimum": "more than",
    "maximum": "at most",
    "exclusiveMaximum": "less than",
}
_TYPES: dict[str, type | tuple[type, ...]] = {"object": dict, "array": list, "string": str}
_EMPTY = frozenset({"minProperties", "minItems", "minLength"})
_VALIDATOR = Draft202012Validator(DOCUMENT_SCHEMA)


def check_shape(document: object, findings: Findings) -> Mapping[str, Any]:
    """Report what deviates from the schema, and return the rest.

    Args:
        document: What the YAML says.
        findings: Where problems go; values that are left out are noted as unusable.

    Returns:
        The document without unknown keys and without values that deviate.
    """
    for error in _VALIDATOR.iter_errors(document):
        _report(error, Place(findings, tuple(error.absolute_path)))
    usable = _without(document, (), findings.unusable)
    return usable if isinstance(usable, dict) else {}


def _report(error: ValidationError, place: Place) -> None:
    if place.is_unusable:
        return
    value: Any = error.instance
    schema: Any = error.schema
    match error.validator:
        case "additionalProperties":
            _report_unknown_keys(value, schema, place)
        case "required":
            keys = schema if "properties" in schema else DOCUMENT_SCHEMA
            _report_missing(value, schema["required"], keys, place)
        case "dependentRequired":
            needs = schema["dependentRequired"].items()
            _report_missing(value, [key for given, keys in needs if given in value for key in keys], schema, place)
        case "oneOf":
            _report_form(error, [_resolved(form) for form in schema["oneOf"]], place)
        case _:
            place.report(value, _sentence(error, schema), _near_miss(error, schema))
            place.findings.unusable.add(place.keys)


def _sentence(error: ValidationError, schema: Schema) -> str:
    expected: Any = error.validator_value
    keyword = str(error.validator)
    if keyword == "type":
        return f"expected {_kinds(expected)}{_example(schema)}"
    if keyword == "enum":
        return f"expected one of {', '.join(expected)}"
    if keyword == "const":
        return f"expected {expected}"
    if keyword in _BOUNDS:
        return f"expected {_BOUNDS[keyword]} {expected}"
    if keyword in _EMPTY or keyword == "maxItems":
        return f"expected a list of {expected}" if schema.get("maxItems") == expected else "must not be empty"
    if keyword == "maxProperties":
        return "expected one name: begin another item of the list for the next"
    if keyword == "uniqueItems":
        return "something is listed twice"
    return str(error.message)


def _kinds(expected: str | list[str]) -> str:
    names = [expected] if isinstance(expected, str) else expected
    return " or ".join(_KINDS[name] for name in names)


def _example(schema: Schema) -> str:
    examples = schema.get("examples", [])
    return f", such as {examples[0]!r}" if examples else ""


def _near_miss(error: ValidationError, schema: Schema) -> str | None:
    if error.validator not in {"enum", "const"} or not isinstance(error.instance, str):
        return None
    alternatives = schema.get("enum", [schema.get("const")])
    return closest_name(error.instance, [name for name in alternatives if isinstance(name, str)])


def _report_unknown_keys(value: Mapping[str, object], schema: Schema, place: Place) -> None:
    properties = schema["properties"]
    for key in _unknown_keys(value, schema):
        candidates = [name for name in properties if name not in value]
        meant = our_word(key, candidates)
        advice = None if meant else advice_on(key, candidates)
        place.at(key).report(value[key], f"unknown key{'' if advice is None else f': {advice}'}", meant)
        place.findings.unusable |= {(*place.keys, name) for name in (key, meant) if name is not None}


def _report_missing(value: Mapping[str, object], needed: list[str], schema: Schema, place: Place) -> None:
    misspelled = {our_word(key, schema["properties"]) for key in _unknown_keys(value, schema)}
    for key in needed:
        if key in value or key in misspelled or (*place.keys, key) in place.findings.unusable:
            continue
        place.report(list(value), f'the key "{key}" is missing')
        place.findings.unusable.add((*place.keys, key))


def _report_form(error: ValidationError, forms: list[Schema], place: Place) -> None:
    """Report why a value has none of several forms: what is wrong with the one meant, where that is clear."""
    value: Any = error.instance
    fitting = [index for index, form in enumerate(forms) if isinstance(value, _TYPES[form["type"]])]
    if not fitting:
        place.report(value, f"expected {_kinds(sorted({form['type'] for form in forms}))}")
    elif not isinstance(value, dict):
        _report_children(error, fitting[0], place)
        return
    else:
        marks = {_mark(forms[index]): index for index in fitting}
        meant = _meant(value, list(marks), {key for form in forms for key in form.get("properties", {})})
        if len(meant) == 1:
            _report_children(error, marks[meant[0]], place)
            return
        if meant:
            place.report(list(value), f"expected only one of {', '.join(meant)}")
        else:
            place.report(list(value), f"one of these keys is missing: {', '.join(marks)}")
    place.findings.unusable.add(place.keys)


def _meant(value: Mapping[str, object], marks: list[str], known_keys: set[str]) -> list[str]:
    """The marks among the keys; if there are none, the marks that unknown keys resemble."""
    given = [mark for mark in marks if mark in value]
    if given:
        return given
    close = {our_word(key, marks) for key in value if key not in known_keys}
    return [mark for mark in marks if mark in close]


def _report_children(error: ValidationError, form: int, place: Place) -> None:
    before = place.findings.count
    for child in error.context or ():
        if child.schema_path[0] == form:
            _report(child, Place(place.findings, tuple(child.absolute_path)))
    if place.findings.count == before:
        place.report(error.instance, str(error.message))


def _resolved(schema: Schema) -> Schema:
    reference = schema.get("$ref")
    form: Schema = DOCUMENT_SCHEMA["$defs"][reference.rpartition("/")[2]] if reference else schema
    return form


def _mark(form: Schema) -> str:
    return str(form["required"][0])


def _unknown_keys(value: Mapping[str, object], schema: Schema) -> Iterator[str]:
    return (key for key in value if key not in schema["properties"])


def _without(value: object, keys: Keys, unusable: set[Keys]) -> object:
    if isinstance(value, dict):
        return {
            key: _without(item, (*keys, key), unusable) for key, item in value.items() if (*keys, key) not in unusable
        }
    if isinstance(value, list):
        return [
            None if (*keys, index) in unusable else _without(item, (*keys, index), unusable)
            for index, item in enumerate(value)
        ]
    return value
