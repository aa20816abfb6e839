"""Whether rows that only dropped windows need can be told before their text is parsed."""

from __future__ import annotations

from collections.abc import Sequence

from streamshed.network.model.stream import Stream
from streamshed.network.sql.expression import parse_expression


def drops_before_parsing(stream: Stream, cohort_keys: Sequence[Sequence[str]], *, samples: bool) -> bool:
    """Return whether rows of a stream that nobody needs can leave before their text is parsed.

    For that, event time must be outside the text. So must what identifies a row, where rows may be sampled, and the
    keys of queries whose windows are dropped by group: nearly every cohort of these is kept somewhere, so time alone
    does not tell that a row is not needed.

    Args:
        stream: The stream.
        cohort_keys: What such queries group by, as SQL.
        samples: Whether rows may be sampled.

    Example:
        >>> from streamshed.network.source.sources import folder
        >>> from streamshed.network.model.declared_stream import stream
        >>> from streamshed.network.terms.parsing import parse_json
        >>> broker = folder("in", "parquet", schema="value binary, arrived timestamp")
        >>> records = stream("records", broker, time="arrived", parse=parse_json("value", "host string"))
        >>> drops_before_parsing(records.stream, [], samples=False)
        True
        >>> drops_before_parsing(records.stream, [("host",)], samples=False)
        False
    """
    names = {name.lower() for name in stream.attribute.expression.columns}
    for sql in (sql for keys in cohort_keys for sql in keys):
        names |= {name.lower() for name in parse_expression(sql).columns}
    in_text = set() if stream.text is None else {column.name.lower() for column in stream.text.schema}
    is_identified = not samples or stream.is_identified_before_parsing
    return not names & in_text and names <= stream.delivered and is_identified
