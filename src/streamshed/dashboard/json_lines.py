"""Logs as lines of JSON."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime


class JsonLines(logging.Formatter):
    """Writes a record of `logging` as one line of JSON.

    Each has `time` (ISO 8601, UTC), `level`, `logger` and `message`; of an exception `exception`; and the fields of
    `record.streamshed`, where a record of streamshed has them.

    Example:
        >>> record = logging.makeLogRecord({"msg": "row %d", "args": (3,), "name": "streamshed", "created": 0.5})
        >>> record.streamshed = {"clock": "time"}
        >>> print(JsonLines().format(record))
        {"time": "1970-01-01T00:00:00.500000+00:00", "level": "Level None", "logger": "streamshed",
         "message": "row 3", "clock": "time"}
    """

    def format(self, record: logging.LogRecord) -> str:
        """Write one record."""
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps({**line, **getattr(record, "streamshed", {})}, ensure_ascii=False)
