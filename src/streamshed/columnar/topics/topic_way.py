"""Whether a task may read the records of topics itself, in the place of Spark."""

from __future__ import annotations

from importlib.util import find_spec

from streamshed.columnar.file_way import check_shedding
from streamshed.columnar.topics.topic_client import client_settings
from streamshed.columnar.untranslatable import Untranslatable
from streamshed.network.source.kafka_source import KafkaSource
from streamshed.sharing.stream_work import StreamWork


def check_topics(work: StreamWork, *, samples: bool, drops: bool) -> None:
    """See that a task may read the records of a stream itself.

    Args:
        work: What is done with them.
        samples: Whether rows may be sampled.
        drops: Whether rows may be left out by their times.

    Raises:
        Untranslatable: It may not; why.
    """
    stream, source = work.stream, work.stream.source
    if not isinstance(source, KafkaSource):
        raise Untranslatable("they are in no topic")
    if source.headers:
        raise Untranslatable("the headers of records are read by Spark")
    client_settings(source)
    check_shedding(stream, source.columns, samples=samples, drops=drops)
    if find_spec("confluent_kafka") is None:
        raise Untranslatable("the extra streamshed[kafka] is not installed")
