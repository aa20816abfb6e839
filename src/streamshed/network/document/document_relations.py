"""Reading the stored relations of a document."""

import os.path
from collections.abc import Mapping
from pathlib import Path

from streamshed.network.document.document_values import is_given, mapping_at, path_in, text_at
from streamshed.network.model.relation import Relation, relation, relation_format
from streamshed.network.model.relation_options import check_options
from streamshed.network.words.columns import parse_schema
from streamshed.network.words.document_problem import Place, problems_of
from streamshed.network.words.given import given_options
from streamshed.network.words.names import name_problem


def read_relation(place: Place, name: str, body: Mapping[str, object], folder: Path) -> Relation | None:
    """Read one stored relation.

    Args:
        place: Where it stands, and where its problems go.
        name: Its name.
        body: What the document says of it, as far as its shape is right.
        folder: Where relative paths begin.

    Returns:
        The relation; None where it has problems.
    """
    named_wrongly = name_problem("relation", name)
    if named_wrongly is not None:
        place.report_all(name, [named_wrongly])
    schema, written = text_at(body, "schema"), text_at(body, "path")
    if schema is not None and place.at("schema").attempt(schema, lambda: parse_schema(schema)) is None:
        return None
    if written is None:
        return None
    path = path_in(folder, written)
    if "://" not in path and not os.path.exists(path):  # noqa: PTH110 - may be a URI
        place.at("path").report(written, f'the relation\'s file "{path}" does not exist')
        return None
    format_name = text_at(body, "format")
    wrong = named_wrongly or any(
        is_given(place, body, key) and key not in body for key in ("format", "schema", "options")
    )
    if wrong:
        return None
    kind = place.at("path").attempt(written, lambda: relation_format(path, format_name))
    if kind is None:
        return None
    options, reported = dict(given_options(mapping_at(body, "options"))), place.findings.count
    place.at("options").report_all(body.get("options"), problems_of(lambda: check_options(kind, options)))
    if place.findings.count > reported:
        return None
    return place.at("path").attempt(written, lambda: relation(name, path, format=kind, schema=schema, options=options))
