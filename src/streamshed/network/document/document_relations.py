"""Reading the stored relations of a document."""

import os.path
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from streamshed.network.document.document_values import is_given
from streamshed.network.document.schema_streams import RELATION, TABLE_RELATIONS
from streamshed.network.model.relation import Relation, relation, relation_format
from streamshed.network.model.relation_options import check_options
from streamshed.network.words.document_problem import Place, problems_of
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
    table = next((kind for kind, each in TABLE_RELATIONS.items() if is_given(place, body, each.required[0])), None)
    if table is None:
        return _in_files(place, name, body, folder, is_named=named_wrongly is None)
    section = TABLE_RELATIONS[table]
    values, key = section.read(place, body, folder), section.required[0]
    if values is None or named_wrongly or any(place.at(each).is_unusable for each in section.fields):
        return None
    problems = problems_of(partial(table, **values))
    place.report_parts(body, problems, body[key])
    return None if problems else place.at(key).attempt(body[key], lambda: relation(name, table(**values)))


def _in_files(place: Place, name: str, body: Mapping[str, object], folder: Path, *, is_named: bool) -> Relation | None:
    values = RELATION.read(place, body, folder)
    if values is None:
        return None
    path, written = values["source"], body["path"]
    if "://" not in path and not os.path.exists(path):  # noqa: PTH110 - may be a URI
        place.at("path").report(written, f'the relation\'s file "{path}" does not exist')
        return None
    if not is_named or any(place.at(key).is_unusable for key in RELATION.fields):
        return None
    kind = place.at("path").attempt(written, lambda: relation_format(path, values.get("format")))
    if kind is None:
        return None
    values |= {"format": kind, "options": dict(values.get("options", ()))}
    problems = problems_of(lambda: check_options(kind, values["options"]))
    place.at("options").report_all(body.get("options"), problems)
    return None if problems else place.at("path").attempt(written, lambda: relation(name, **values))
