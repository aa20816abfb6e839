"""A stateful processor that is unpacked where rows are.

Before every micro-batch Spark starts a Python process that only asks a processor for its state. What that imports is
imported anew each time, while the micro-batch waits; so this file imports next to nothing.

Rests on Spark's internals: tests/spark/contracts/test_compiled_once.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from pyspark import cloudpickle
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from streamshed.spark.common.worker_heap import freeze_modules


class MapStateNeeded(NamedTuple):
    """A map in state."""

    name: str
    key_ddl: str
    value_ddl: str


class ValueStateNeeded(NamedTuple):
    """A value in state."""

    name: str
    value_ddl: str


StateNeeded = MapStateNeeded | ValueStateNeeded


class LateProcessor(StatefulProcessor):
    """Another processor, which is unpacked when the first rows come.

    Args:
        processor: The other one.
        needed: The state that it opens.
    """

    def __init__(self, processor: StatefulProcessor, needed: Iterable[StateNeeded]) -> None:
        self._written: bytes = cloudpickle.dumps(processor)  # type: ignore[no-untyped-call]
        self._needed = tuple(needed)

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Open the state."""
        self._opened = _Opened({one.name: _open(handle, one) for one in self._needed})
        self._processor: StatefulProcessor | None = None

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Any]:  # noqa: N803 - Spark's names
        """Let the processor take in the rows of a micro-batch."""
        if self._processor is None:
            freeze_modules()
            unpacked: StatefulProcessor = cloudpickle.loads(self._written)
            unpacked.init(self._opened)  # type: ignore[arg-type]
            self._processor = unpacked
        yield from self._processor.handleInputRows(key, rows, timerValues)

    def close(self) -> None:
        """Close the processor, if it was unpacked."""
        if self._processor is not None:
            self._processor.close()


class _Opened:
    """What a processor asks for its state, which is open already."""

    def __init__(self, states: dict[str, Any]) -> None:
        self._states = states

    def getMapState(self, name: str, *_: object) -> Any:
        """Return a map."""
        return self._states[name]

    def getValueState(self, name: str, *_: object) -> Any:
        """Return a value."""
        return self._states[name]


def _open(handle: StatefulProcessorHandle, needed: StateNeeded) -> Any:
    match needed:
        case MapStateNeeded(name, key_ddl, value_ddl):
            return handle.getMapState(name, key_ddl, value_ddl)
        case ValueStateNeeded(name, value_ddl):
            return handle.getValueState(name, value_ddl)
