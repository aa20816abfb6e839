from __future__ import annotations

import json
from pathlib import Path

import pytest

from streamshed.errors import InvalidDocumentError
from streamshed.network.document.document import Language, network_to_document, parse_network
from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import network
from streamshed.network.source.delta_source import DeltaSource, delta
from streamshed.network.source.identity import Identity, IdentityKind
from streamshed.network.source.sources import source_columns
from tests.unit.network.document.stream_documents import SCHEMA, problems_of, source_of


def test_a_document_says_what_python_says() -> None:
    assert source_of(f'delta: fares, schema: "{SCHEMA}"') == delta("/data/fares", schema=SCHEMA)
    everything = f'delta: "s3://b/t", schema: "{SCHEMA}", max_files_per_micro_batch: 5, options: {{startingVersion: 3}}'
    options = {"startingVersion": "3"}
    assert source_of(everything) == delta("s3://b/t", schema=SCHEMA, max_files_per_micro_batch=5, options=options)


@pytest.mark.parametrize(
    "source",
    [
        delta("/data/fares", schema=SCHEMA),
        delta("s3://b/t", schema=SCHEMA, max_files_per_micro_batch=5, options={"skipChangeCommits": "true"}),
    ],
)
def test_what_is_written_is_read_as_the_same(source: DeltaSource) -> None:
    written = network(stream("fares", source, time="ts").query("all"))
    assert parse_network(network_to_document(written)).network == written
    sql = written.to_sql()
    assert "delta = '" in sql
    assert parse_network(sql, language=Language.SQL).network == written


def test_rows_have_no_identity_of_their_own() -> None:
    assert stream("fares", delta("fares", schema=SCHEMA), time="ts").stream.identity == Identity(IdentityKind.NONE)


def test_each_problem_is_told_where_it_stands() -> None:
    problems = problems_of('delta: fares, schema: "ts timestamp", max_files_per_micro_batch: 0')
    assert list(problems) == ["streams.fares.source.max_files_per_micro_batch"]
    problems = problems_of(
        'delta: fares, schema: "ts timestamp", options: {readChangeFeed: true, maxFilesPerTrigger: 5}'
    )
    assert list(problems) == ["streams.fares.source.options"] * len(problems)
    assert "cannot be: a row would come with each change of it" in " ".join(problems.values())
    for option in ("ignoreChanges", "ignoreFileDeletion"):
        problems = problems_of(f'delta: fares, schema: "ts timestamp", options: {{{option}: true}}')
        assert "rows that were changed would come again" in " ".join(problems.values())
    assert "is no table of Delta Lake" in problems_of(f"delta: {Path(__file__).parent}")["streams.fares.source.delta"]
    assert "is not on this machine: say its columns" in problems_of("delta: s3://b/t")["streams.fares.source.delta"]
    assert 'unknown column "ts"' in str(problems_of('delta: fares, schema: "at timestamp"'))


def test_columns_are_read_from_the_log(tmp_path: Path) -> None:
    """The newest commit that sets them counts."""
    log = tmp_path / "fares" / "_delta_log"
    log.mkdir(parents=True)
    for version, names in enumerate((["ts"], ["ts", "zone"])):
        fields = [{"name": name, "type": "timestamp" if name == "ts" else "integer"} for name in names]
        schema = json.dumps({"type": "struct", "fields": fields})
        (log / f"{version:020}.json").write_text(json.dumps({"metaData": {"schemaString": schema}}) + "\n")
    (log / f"{2:020}.json").write_text('{"add": {"path": "x"}}\n')
    columns = source_columns(source_of("delta: fares", tmp_path))
    assert [(column.name, column.type) for column in columns] == [("ts", "timestamp"), ("zone", "int")]
    odd = json.dumps({"type": "struct", "fields": [{"name": "ts", "type": {"elementType": "timestamp"}}]})
    for text in ("{", json.dumps({"metaData": {"schemaString": odd}})):
        (log / f"{2:020}.json").write_text(text)
        with pytest.raises(InvalidDocumentError, match=r"the log of the table .* cannot be read"):
            source_of("delta: fares", tmp_path)
