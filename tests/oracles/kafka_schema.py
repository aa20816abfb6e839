"""The columns of a Kafka source of Spark that hold a record."""

import pyarrow as pa

from streamshed.traces.trace import TIME_TYPE

KAFKA_SCHEMA = pa.schema(
    [
        pa.field("key", pa.binary()),
        pa.field("value", pa.binary()),
        pa.field("topic", pa.string()),
        pa.field("partition", pa.int32()),
        pa.field("offset", pa.int64()),
        pa.field("timestamp", TIME_TYPE),
    ]
)
