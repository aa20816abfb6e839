"""Topics of a Kafka cluster as a source, described without Spark."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from streamshed.errors import InvalidNetworkError, Problem, closest_name
from streamshed.network.words.columns import Column
from streamshed.network.words.given import (
    given_names,
    given_options,
    is_a,
    is_filled_text,
    is_whole_number,
    option_problems,
)
from streamshed.network.words.keywords import with_advice

EARLIEST, LATEST = "earliest", "latest"
TEXT_COLUMN = "value"
"""The column that holds what a record says; the one that is parsed."""

IDENTIFYING = ("topic", "partition", "offset")
"""What tells a record from all others."""

_HEADERS = "headers"
_BROKER_COLUMNS = (
    Column("key", "binary"),
    Column(TEXT_COLUMN, "binary"),
    Column("topic", "string"),
    Column("partition", "int"),
    Column("offset", "bigint"),
    Column("timestamp", "timestamp"),
)
_HEADERS_COLUMN = Column(_HEADERS, "array<struct<key:string,value:binary>>")

_SAID_ELSEWHERE = {
    "kafka.bootstrap.servers": "servers",
    "subscribe": "topics",
    "subscribepattern": "pattern",
    "startingoffsets": "start",
    "includeheaders": "headers",
    "maxoffsetspertrigger": "max_rows_per_micro_batch",
}
"""Options of Spark's connector that have a place of their own, and which."""

_OURS = {
    "assign": "a partition that is added would be missed: subscribe to its topic",
    "failondataloss": "rows that the broker deleted before they were read are counted and reported",
    "minoffsetspertrigger": "a micro-batch comes at each trigger",
    "maxtriggerdelay": "a micro-batch comes at each trigger",
}
"""Options of Spark's connector that a network cannot be run with, and why."""


@dataclass(frozen=True, slots=True)
class KafkaSource:
    """Topics whose records are read as they come; made by `kafka`.

    Attributes:
        topics: The topics, or one pattern.
        servers: Where the cluster is found, as "host:port,host:port".
        is_pattern: Whether `topics` is a regular expression, in Java's syntax, for the names of topics.
        start: Where a new checkpoint begins: "earliest", "latest", or offsets by topic and partition as JSON.
        headers: Whether the records' headers are a column.
        prefix: What the names of columns begin with, but for `value`.
        max_rows_per_micro_batch: At most so many records a micro-batch; None: as many as there is time for.
        options: Options of Spark's connector, sorted by name.
    """

    topics: tuple[str, ...]
    servers: str
    is_pattern: bool = False
    start: str = LATEST
    headers: bool = False
    prefix: str = ""
    max_rows_per_micro_batch: int | None = None
    options: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "options", tuple(sorted(self.options)))
        problems = [
            *_topic_problems(self),
            *_start_problems(self),
            *option_problems(self.options, _SAID_ELSEWHERE, _OURS),
        ]
        if not is_filled_text(self.servers):
            says = 'servers say where the cluster is, such as "host:9092"'
            problems.append(Problem(says, "servers", got=repr(self.servers)))
        limit = self.max_rows_per_micro_batch
        if limit is not None and not is_whole_number(limit, at_least=1):
            says = "max_rows_per_micro_batch must be at least 1"
            problems.append(Problem(says, "max_rows_per_micro_batch", got=repr(limit)))
        if not (is_a(self.prefix, str) and re.fullmatch(r"\w*", self.prefix)):
            says = 'a prefix is letters, digits and underscores, such as "kafka_"'
            problems.append(Problem(says, "prefix", got=repr(self.prefix)))
        if problems:
            raise InvalidNetworkError(*(Problem.of(problem, subject=self.label) for problem in problems))

    @property
    def label(self) -> str:
        """What it is called in messages.

        Example:
            >>> KafkaSource(("packets", "flows"), "host:9092").label
            'kafka "packets,flows"'
        """
        return f'kafka "{",".join(map(str, self.topics))}"'

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of its rows."""
        return topic_columns(self.prefix, headers=self.headers)

    @property
    def broker_columns(self) -> tuple[Column, ...]:
        """The same under the names that they have to the broker."""
        return topic_columns(headers=self.headers)

    @property
    def identity(self) -> tuple[str, ...]:
        """The columns that tell a record from all others."""
        return topic_identity(self.prefix)

    def column(self, name: str) -> str:
        """Return what a column of the broker's is called in the network.

        Example:
            >>> source = KafkaSource(("packets",), "host:9092", prefix="kafka_")
            >>> source.column("offset"), source.column("value")
            ('kafka_offset', 'value')
        """
        return _prefixed(self.prefix, name)


def topic_columns(prefix: str = "", *, headers: bool = False) -> tuple[Column, ...]:
    """Return the columns of the records of topics.

    Args:
        prefix: What their names begin with, but for `value`.
        headers: Whether the records' headers are one.
    """
    columns = (*_BROKER_COLUMNS, _HEADERS_COLUMN) if headers else _BROKER_COLUMNS
    return tuple(Column(_prefixed(prefix, column.name), column.type) for column in columns)


def topic_identity(prefix: str = "") -> tuple[str, ...]:
    """Return the columns that tell a record from all others.

    Args:
        prefix: What their names begin with.
    """
    return tuple(_prefixed(prefix, name) for name in IDENTIFYING)


def _prefixed(prefix: str, name: str) -> str:
    return name if name == TEXT_COLUMN else f"{prefix}{name}"


@with_advice
def kafka(
    topics: str | Sequence[str],
    servers: str,
    *,
    pattern: bool = False,
    start: str | Mapping[str, Mapping[str | int, int]] = LATEST,
    headers: bool = False,
    prefix: str = "",
    max_rows_per_micro_batch: int | None = None,
    options: Mapping[str, str] | None = None,
) -> KafkaSource:
    """Describe topics of a Kafka cluster as a source.

    Its rows have the columns `key`, `value` (both bytes), `topic`, `partition`, `offset` and `timestamp`. What records
    say is read by `parse_json("value", ...)`, `parse_csv("value", ...)` or `parse_avro("value", ...)` of the stream.

    Args:
        topics: A topic, or several.
        servers: Where the cluster is found, as "host:port,host:port".
        pattern: Whether `topics` is a regular expression: all topics whose names match are read, also those that come
            later.
        start: Where a new checkpoint begins: "earliest", "latest" (with what comes from then on), or per topic and
            partition the offset, -2 for the earliest and -1 for the latest.
        headers: Whether the headers are a column, too: `headers`, an array of (key, value).
        prefix: What the names of columns begin with, but for `value`: where records say things of the same names.
        max_rows_per_micro_batch: At most so many records a micro-batch; None: as many as there is time for.
        options: Options of Spark's connector, such as {"kafka.security.protocol": "SSL"}.

    Raises:
        InvalidNetworkError: Listing all that is wrong.

    Example:
        >>> kafka("packets", "host:9092").columns[4]
        Column(name='offset', type='bigint')
        >>> kafka("packets", "host:9092", start={"packets": {0: 17}}).start
        '{"packets": {"0": 17}}'
        >>> kafka("packets", "host:9092", options={"subscribe": "flows"})
        Traceback (most recent call last):
        streamshed.errors.InvalidNetworkError: kafka "packets": the option "subscribe" is said by `topics`: leave it out
    """
    names = (topics,) if isinstance(topics, str) else given_names("topics", topics)
    limit, connector_options = max_rows_per_micro_batch, given_options(options)
    return KafkaSource(names, servers, pattern, written_start(start), headers, prefix, limit, connector_options)


def written_start(start: object) -> str:
    """Return where to begin as `KafkaSource.start` has it; what cannot be stays so, to be refused there.

    Example:
        >>> written_start("earliest"), written_start({"packets": {0: 17}})
        ('earliest', '{"packets": {"0": 17}}')
    """
    return start if isinstance(start, str) else json.dumps(start, default=repr, skipkeys=True)


def _topic_problems(source: KafkaSource) -> Iterator[Problem]:
    if not source.topics or not all(map(is_filled_text, source.topics)):
        yield Problem("a topic is a name that is not empty", "kafka", got=repr(source.topics))
    elif source.is_pattern and len(source.topics) > 1:
        yield Problem("a pattern is one regular expression, such as `flows|packets`", "kafka", got=str(source.topics))
    elif not source.is_pattern:
        for topic in source.topics:
            if not re.fullmatch(r"[a-zA-Z0-9._-]+", topic):
                says = f'"{topic}" is no name of a topic: if it is a regular expression, say so by pattern: true'
                yield Problem(says, "kafka")
        if len(set(source.topics)) < len(source.topics):
            yield Problem("a topic is there twice", "kafka")


def _start_problems(source: KafkaSource) -> Iterator[Problem]:
    if source.start in {EARLIEST, LATEST}:
        return
    says = 'start is "earliest", "latest" or offsets such as {"packets": {"0": 17}}'
    try:
        offsets = json.loads(source.start)
    except (TypeError, ValueError):
        near_miss = closest_name(str(source.start), (EARLIEST, LATEST))
        yield Problem(says, "start", got=f'"{source.start}"', near_miss=near_miss)
        return
    if not _are_offsets(offsets):
        yield Problem(says, "start", got=source.start)


def _are_offsets(offsets: object) -> bool:
    if not isinstance(offsets, dict) or not offsets:
        return False
    return all(
        isinstance(partitions, dict)
        and all(number.isdigit() and is_whole_number(offset, at_least=-2) for number, offset in partitions.items())
        for partitions in offsets.values()
    )
