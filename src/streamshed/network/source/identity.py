"""What tells a row from all others, so that a sampler decides alike when it is read again."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from streamshed.errors import InvalidNetworkError, Problem, closest_name
from streamshed.network.source.kafka_source import IDENTIFYING, KafkaSource
from streamshed.network.source.sources import DataFrameSource, FileFormat, FolderSource, OutsideSource, RateSource
from streamshed.network.words.columns import Column
from streamshed.network.words.given import given_names


class IdentityKind(StrEnum):
    """What tells a row from all others."""

    COLUMNS = "columns"
    FILE_ROW = "file_row"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Identity:
    """What the samplers hash, so that a row read again is kept or dropped again.

    Attributes:
        kind: COLUMNS, such as Kafka's topic, partition and offset; FILE_ROW: path and row number in a Parquet
            file; NONE: a sample is not reproducible.
        columns: For COLUMNS: which.
    """

    kind: IdentityKind
    columns: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if (self.kind is IdentityKind.COLUMNS) != bool(self.columns):
            raise InvalidNetworkError(f'an identity is columns, "file_row" or "none", got {self.kind}{self.columns}')


def row_identity(declared: str | Sequence[str] | None, source: OutsideSource, columns: tuple[Column, ...]) -> Identity:
    """Read what a user declares as the identity of rows.

    Args:
        declared: Columns, "file_row" or "none"; None: what the source offers.
        source: Where the rows come from.
        columns: The source's columns.

    Raises:
        InvalidNetworkError: It is none of these.
    """
    if declared is None:
        return _default_identity(source, columns)
    if not isinstance(declared, str):
        return Identity(IdentityKind.COLUMNS, given_names("an identity", declared))
    if declared in {IdentityKind.FILE_ROW, IdentityKind.NONE}:
        return Identity(IdentityKind(declared))
    says = f"""an identity is "file_row", "none" or a list of columns: for one column write ['{declared}']"""
    near_miss = closest_name(declared, ("file_row", "none"))
    raise InvalidNetworkError(Problem(says, got=f'"{declared}"', near_miss=near_miss))


def _default_identity(source: OutsideSource, columns: tuple[Column, ...]) -> Identity:
    names = {column.name.lower() for column in columns}
    match source:
        case RateSource():
            return Identity(IdentityKind.COLUMNS, ("value",))
        case KafkaSource():
            return Identity(IdentityKind.COLUMNS, source.identity)
        case FolderSource(format=FileFormat.PARQUET):
            return Identity(IdentityKind.FILE_ROW)
        case DataFrameSource() if names.issuperset(IDENTIFYING):
            return Identity(IdentityKind.COLUMNS, IDENTIFYING)
        case _:
            return Identity(IdentityKind.NONE)
