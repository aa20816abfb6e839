"""The schema of a stream's values, as a registry has it."""

from __future__ import annotations

from dataclasses import replace

from streamshed.errors import InvalidNetworkError, Problem, SourceUnavailableError
from streamshed.network.source.kafka_source import KafkaSource
from streamshed.network.source.sources import OutsideSource
from streamshed.network.terms.parsing import Parse, avro_text

_OF_VALUES = "-value"


def with_registered_schema(parse: Parse | None, source: OutsideSource) -> Parse | None:
    """Return how values are parsed, with the subject of their topic and the schema that the registry has of it.

    Args:
        parse: How they are parsed; None, or without a registry: it is returned as it is.
        source: Where they come from.

    Raises:
        InvalidNetworkError: Which subject it is has to be said; a field of the schema is held by no column.
        SourceUnavailableError: The registry does not answer, refuses, or has no such subject.
    """
    if parse is None or parse.schema_registry is None:
        return parse
    subject = parse.subject or _subject_of(source)
    if parse.avro_schema:
        return replace(parse, subject=subject)
    return replace(parse, subject=subject, avro_schema=avro_text(parse.schema_registry.latest(subject)))


def require_registered(parse: Parse | None) -> None:
    """See that the registry answers and has the subject, and that its latest schema means what the stream reads.

    Args:
        parse: How values are parsed; None, or without a registry: there is nothing to see.

    Raises:
        SourceUnavailableError: It has not.
    """
    if parse is None or parse.schema_registry is None or parse.subject is None:
        return
    from streamshed.network.words.avro_schema import avro_type, differing_meaning, read_schema

    latest = parse.schema_registry.latest(parse.subject)
    try:
        written, wanted = (avro_type(read_schema(text)) for text in (latest, parse.avro_schema))
        differs = differing_meaning(written, wanted)
    except InvalidNetworkError as error:
        raise SourceUnavailableError(f'subject "{parse.subject}" of {parse.registry}: {error}') from error
    if differs is not None:
        raise SourceUnavailableError(f'subject "{parse.subject}" of {parse.registry}: {differs}')


def _subject_of(source: OutsideSource) -> str:
    if isinstance(source, KafkaSource) and len(source.topics) == 1 and not source.is_pattern:
        return f"{source.topics[0]}{_OF_VALUES}"
    says = 'which schema of the registry its values have is not known: say it by a subject, such as "packets-value"'
    raise InvalidNetworkError(Problem(says, "subject"))
