import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from streamshed.network.document.document import Language, parse_network
from streamshed_bench.nexmark.nexmark_load import loaded_network
from streamshed_bench.nexmark.statements import ASKED, COLUMNS, NOT_EXPRESSIBLE, streams_sql
from tests.unit.documentation import page

TABLE = page("docs/sql.md").table("Nexmark")


def test_what_can_be_asked_is_what_the_documentation_says() -> None:
    said = {name: answer for answer, queries in TABLE for name in queries.split(", ")}
    assert {name for name, answer in said.items() if answer.startswith("yes")} == set(ASKED)
    assert {name: f"no: {reason}" for name, reason in NOT_EXPRESSIBLE.items()} == {
        name: answer for name, answer in said.items() if answer.startswith("no")
    }


@pytest.mark.parametrize("name", ASKED)
def test_each_statement_is_taken(name: str, tmp_path: Path) -> None:
    query = ASKED[name]
    folders = {stream: tmp_path / stream for stream in query.streams}
    for folder in folders.values():
        folder.mkdir()
    side_input = tmp_path / "side_input.parquet"
    pq.write_table(pa.table({"key": [1], "value": ["one"]}), side_input)
    declared = streams_sql(folders, side_input=side_input, files_per_micro_batch=2)
    network = parse_network(f"{declared}\n{query.ours}", folder=tmp_path, language=Language.SQL).network
    assert [named.name for named in network.queries] == ["q"]


@pytest.mark.parametrize("name", ASKED)
def test_plain_spark_reads_the_same_streams(name: str) -> None:
    query = ASKED[name]
    assert {stream for stream in COLUMNS if re.search(rf"(?:FROM|JOIN) {stream}\b", query.native)} == set(query.streams)


def test_the_network_under_load_drops_windows_of_what_cannot_be_sampled(tmp_path: Path) -> None:
    network = loaded_network(tmp_path)
    modes = {query.name: query.mode.value for query in network.queries}
    assert modes == {
        "q5": "subset",
        "q7": "subset",
        "q15": "approximate",
        "q15_bidders": "subset",
        "q16": "approximate",
    }
