"""Sinks that write from the driver to a server elsewhere, with a package of their own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import pyarrow as pa
from pyspark.sql import DataFrame

from streamshed.errors import ServerUnavailableError, SinkUnavailableError


class DriverSink(ABC):
    """A sink to which answers go from the driver, all of a micro-batch at once."""

    reads_once: ClassVar[bool] = True

    @property
    @abstractmethod
    def label(self) -> str:
        """What it is called in messages."""

    @abstractmethod
    def prepare(self) -> None:
        """Make the table if it is not there, and see that it takes answers.

        Raises:
            ServerUnavailableError: The server does not answer.
            SinkUnavailableError: It takes no answers.
            MissingExtraError: The package is not installed.
        """

    @abstractmethod
    def write_rows(self, answers: pa.Table, query_id: str, micro_batch_id: int) -> None:
        """Write answers that are here already, as rows of the answer schema.

        Raises:
            ServerUnavailableError: The server does not answer: the run waits for it.
            SinkUnavailableError: It does not take them.
        """

    def check(self) -> None:
        """Do as `prepare`; a server that does not answer at the start is not waited for."""
        try:
            self.prepare()
        except ServerUnavailableError as error:
            raise SinkUnavailableError(str(error)) from error

    def write(self, answers: DataFrame, query_id: str, micro_batch_id: int) -> None:
        """Bring the answers here, and write them."""
        self.write_rows(answers.toArrow(), query_id, micro_batch_id)
