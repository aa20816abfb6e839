"""Seeded input: two streams and five relations, with all that makes equality difficult."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import csv, parquet

from tests.spark.exactness.specification import Kind

EPOCH = datetime(2024, 1, 1, tzinfo=UTC)
SPAN_SECONDS = 120

COLUMNS: tuple[tuple[str, Kind], ...] = (
    ("row", Kind.BIG),
    ("n", Kind.INTEGER),
    ("i", Kind.INTEGER),
    ("big", Kind.BIG),
    ("x", Kind.DOUBLE),
    ("y", Kind.DOUBLE),
    ("money", Kind.DECIMAL),
    ("wide", Kind.DECIMAL),
    ("s", Kind.TEXT),
    ("word", Kind.TEXT),
    ("d", Kind.DATE),
    ("at", Kind.TIMESTAMP),
    ("local", Kind.LOCAL),
    ("flag", Kind.BOOLEAN),
    ("raw", Kind.BINARY),
)
"""The columns of both streams beside `ts`."""

TEXTS = ("", "a", "b", "A", "\\N", "\\", "\\\\N", "a\x1fb", "a\x1f", "\\u", "N", " a", "ä€😀", "NULL", "NaN")
WORDS = ("12", "7", "0012", "abc", "", "3x", "-5", "100")
NUMBERS = (0.0, -0.0, 1.5, -2.25, math.nan, math.inf, -math.inf, 1e300, 0.1, 1e-310)
BIG_NUMBERS = (2**62, 2**62 - 1, -(2**62), 2**63 - 1, -(2**63), 5, -7, 0)
WIDE = tuple(Decimal(text) for text in ("123456789012345678901234.0123456789", "-1E-10", "0.5", "1E+24", "-1E+24"))
MOMENTS = tuple(EPOCH + timedelta(microseconds=n) for n in (0, 1, -1, 3_600_000_001, -(10**15), 86_399_999_999))
_TYPES = {
    Kind.INTEGER: pa.int32(),
    Kind.BIG: pa.int64(),
    Kind.DOUBLE: pa.float64(),
    Kind.TEXT: pa.string(),
    Kind.DATE: pa.date32(),
    Kind.TIMESTAMP: pa.timestamp("us", "UTC"),
    Kind.LOCAL: pa.timestamp("us"),
    Kind.BOOLEAN: pa.bool_(),
    Kind.BINARY: pa.binary(),
}
_DECIMALS = {"money": pa.decimal128(10, 2), "wide": pa.decimal128(38, 10)}


@dataclass(frozen=True)
class Relation:
    """A stored relation: `file` is where it lies for streamshed, None: it is handed over as a DataFrame."""

    table: pa.Table
    file: Path | None


@dataclass(frozen=True)
class Tables:
    """All input of one job.

    Attributes:
        streams: Rows by the stream's name.
        folders: Where each stream's rows lie as Parquet.
        relations: Relations by name.
    """

    streams: dict[str, pa.Table]
    folders: dict[str, Path]
    relations: dict[str, Relation]


def make_tables(seed: int, rows: dict[str, int], folder: Path) -> Tables:
    """Generate the input of one job, and write it.

    Args:
        seed: Of all that is random.
        rows: How many rows each stream has.
        folder: Where files are written.
    """
    tables = random_tables(seed, rows, folder)
    for name, table in tables.streams.items():
        tables.folders[name].mkdir(parents=True)
        half = table.num_rows // 2
        parquet.write_table(table.slice(0, half), tables.folders[name] / "0.parquet")
        parquet.write_table(table.slice(half), tables.folders[name] / "1.parquet")
    write_relations(tables)
    return tables


def random_tables(seed: int, rows: dict[str, int], folder: Path) -> Tables:
    """Generate the same, and write nothing."""
    chance = random.Random(seed)
    streams = {name: _stream(chance, count) for name, count in rows.items()}
    return Tables(streams, {name: folder / name for name in streams}, _relations(chance, folder))


def write_relations(tables: Tables) -> None:
    """Write the files of the relations that have one."""
    for relation in tables.relations.values():
        if relation.file is None:
            continue
        if relation.file.suffix == ".csv":
            csv.write_csv(relation.table, relation.file, csv.WriteOptions(quoting_style="needed"))
        else:
            parquet.write_table(relation.table, relation.file)


def _stream(chance: random.Random, count: int) -> pa.Table:
    """Rows in random order; a quarter lie on whole seconds, where windows meet; a tenth are there twice."""
    rows = [_row(chance, number) for number in range(count)]
    rows += [row for row in rows if chance.random() < 0.1]
    chance.shuffle(rows)
    types = {"ts": pa.timestamp("us", "UTC"), **{name: _type(name, kind) for name, kind in COLUMNS}}
    return pa.table({name: pa.array([row[name] for row in rows], kind) for name, kind in types.items()})


def _type(name: str, kind: Kind) -> pa.DataType:
    return _DECIMALS[name] if kind is Kind.DECIMAL else _TYPES[kind]


def _row(chance: random.Random, number: int) -> dict[str, Any]:
    on_edge = chance.random() < 0.25
    second = chance.randrange(SPAN_SECONDS)
    microsecond = 0 if on_edge else chance.randrange(1_000_000)
    makers: dict[str, Callable[[], Any]] = {
        "n": lambda: chance.randint(-9, 9),
        "i": lambda: chance.randrange(5),
        "big": lambda: chance.choice(BIG_NUMBERS),
        "x": lambda: chance.choice(NUMBERS),
        "y": lambda: round(chance.uniform(-1000, 1000), chance.randrange(6)),
        "money": lambda: Decimal(chance.randint(-(10**10) + 1, 10**10 - 1)).scaleb(-2),
        "wide": lambda: chance.choice(WIDE),
        "s": lambda: chance.choice(TEXTS),
        "word": lambda: chance.choice(WORDS),
        "d": lambda: date(2024, 1, 1) + timedelta(days=chance.choice((-400, -1, 0, 1, 20_000))),
        "at": lambda: chance.choice(MOMENTS),
        "local": lambda: chance.choice(MOMENTS).replace(tzinfo=None),
        "flag": lambda: chance.random() < 0.5,
        "raw": lambda: chance.choice((b"", b"\x00", b"\xff\x00", b"a", b"\x7f")),
    }
    values = {name: None if chance.random() < 0.12 else make() for name, make in makers.items()}
    return {"row": number, "ts": EPOCH + timedelta(seconds=second, microseconds=microsecond), **values}


def _relations(chance: random.Random, folder: Path) -> dict[str, Relation]:
    return {
        "labels": Relation(_table(chance, "label_key", pa.string(), TEXTS[:9], ("label",)), None),
        "ranks": Relation(_table(chance, "rank_key", pa.int32(), (0, 1, 3, 7), ("region",)), folder / "ranks.parquet"),
        "words": Relation(_words(chance), folder / "words.csv"),
        "halves": Relation(_pairs(chance), folder / "halves.parquet"),
        "nobody": Relation(_table(chance, "none_key", pa.string(), (), ("nothing",)), folder / "nobody.parquet"),
    }


def _table(chance: random.Random, key: str, kind: pa.DataType, keys: Sequence[Any], texts: Sequence[str]) -> pa.Table:
    """A relation of unique keys; each text column repeats values, and holds nulls where it is not a CSV file's."""
    columns = {key: pa.array(list(keys), kind)}
    for name in texts:
        columns[name] = pa.array([chance.choice(("u", "v", "w w")) for _ in keys], pa.string())
        score = [None if chance.random() < 0.2 else round(chance.uniform(-5, 5), 2) for _ in keys]
        columns[f"{name}_score"] = pa.array(score, pa.float64())
    return pa.table(columns)


def _words(chance: random.Random) -> pa.Table:
    """Two texts that are keys, the second of digits only: read as numbers, they would lose their zeros."""
    words = _table(chance, "entry", pa.string(), WORDS[:4], ("sense",))
    return words.add_column(1, "digits", pa.array(["0012", "7", "012", "100"], pa.string()))


def _pairs(chance: random.Random) -> pa.Table:
    pairs = [(i, flag) for i in (0, 1, 2, None) for flag in (True, False) if chance.random() < 0.8]
    return pa.table(
        {
            "half_i": pa.array([i for i, _ in pairs], pa.int32()),
            "half_flag": pa.array([flag for _, flag in pairs], pa.bool_()),
            "half": pa.array([chance.choice(("l", "r", None)) for _ in pairs], pa.string()),
            "half_score": pa.array([chance.randint(-3, 3) for _ in pairs], pa.int64()),
        }
    )
