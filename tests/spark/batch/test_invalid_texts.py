"""Texts that are not UTF-8: Spark passes on whatever bytes come, Python reads U+FFFD in the place of some."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pandas as pd
import pyarrow as pa
from pyspark.sql import SparkSession

from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import network
from streamshed.network.source.sources import folder
from streamshed.network.terms.aggregate import user_aggregate
from streamshed.spark import answers
from tests.spark.event_times import at
from tests.spark.files import write_parquet
from tests.spark.sessions import interpreting

TEXTS = (b"a", b"dl\xdcn", b"dl\xddn", b"\xff", "ä".encode(), b"\xf0\x9f", b"a")
SHOWN = [text.decode(errors="replace") for text in TEXTS]


def lengths(words: pd.Series[str]) -> pd.Series[int]:
    """How many letters Python sees."""
    return words.str.len()


class Joined:
    """All words, one after the other."""

    def init(self) -> list[str]:
        return []

    def incr(self, state: list[str], word: str) -> list[str]:
        return [*state, word]

    def final(self, state: list[str]) -> str:
        return "|".join(sorted(state))


def test_they_are_answered_as_python_reads_them(spark: SparkSession, tmp_path: Path) -> None:
    """Keys that Python reads alike are one."""
    raw = pa.table({"at": [at(second) for second in range(len(TEXTS))], "word": list(TEXTS), "n": range(len(TEXTS))})
    write_parquet(tmp_path / "in" / "0.parquet", raw)
    source = folder(tmp_path / "in", "parquet", schema="at timestamp, word string, n bigint")
    words = stream("words", source, time="at")
    window = words.window("1 minute")
    counted = words.apply(lengths, columns=["word"], into="letters", returns="bigint").window("1 minute")
    numbered = stream("numbered", source, number="n")
    joined = user_aggregate(Joined, columns=["word"], returns="string")
    by_word = window.by("word").agg(n="count(*)")
    asked = network(
        by_word.query("by_word"),
        by_word.window("1 minute").agg(kinds="count(*)", first="min(word)").query("nested"),
        window.agg(least="min(word)", most="max(word)", joined=joined).query("whole"),
        counted.agg(letters="sum(letters)").query("letters"),
        words.query("rows"),
        numbered.window("10 rows").by("word").agg(n="count(*)").query("numbered"),
    )
    table = answers(asked, interpreting(spark)).toArrow()
    of = {
        (query, aggregate): table.filter(
            (pa.compute.field("query") == query) & (pa.compute.field("aggregate") == aggregate)
        )
        for query, aggregate in {*zip(table["query"].to_pylist(), table["aggregate"].to_pylist(), strict=True)}
    }
    counts = Counter(SHOWN)
    for query in ("by_word", "numbered"):
        keys = [key for [key] in of[query, "n"]["key"].to_pylist()]
        assert dict(zip(keys, of[query, "n"]["value"].to_pylist(), strict=True)) == counts
        assert len(keys) == len(counts)
    values = {name: rows["value_text"].to_pylist() for name, rows in of.items()}
    assert values["nested", "kinds"] == [str(len(counts))]
    assert values["whole", "least"] == values["nested", "first"] == [min(TEXTS).decode()]
    assert values["whole", "most"] == [max(TEXTS).decode(errors="replace")]
    assert values["whole", "joined"] == ["|".join(sorted(SHOWN))]
    assert values["letters", "letters"] == [str(sum(map(len, SHOWN)))]
