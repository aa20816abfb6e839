"""Streams over tables of Iceberg in documents and in SQL."""

from __future__ import annotations

import pytest

from streamshed.errors import InvalidNetworkError
from streamshed.network.document.document import Language, network_to_document, parse_network
from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import network
from streamshed.network.model.relation import relation
from streamshed.network.source.iceberg_source import IcebergSource, iceberg
from streamshed.network.source.identity import Identity, IdentityKind
from tests.unit.network.document.stream_documents import SCHEMA, problems_of, source_of


def test_a_document_says_what_python_says() -> None:
    assert source_of(f'iceberg: live.fares, schema: "{SCHEMA}"') == iceberg("live.fares", schema=SCHEMA)
    everything = (
        f'iceberg: live.fares, catalog: lake, schema: "{SCHEMA}", max_files_per_micro_batch: 5, skip_changes: true'
    )
    expected = iceberg("live.fares", "lake", schema=SCHEMA, max_files_per_micro_batch=5, skip_changes=True)
    assert source_of(everything) == expected


@pytest.mark.parametrize(
    "source",
    [
        iceberg("live.fares", schema=SCHEMA),
        iceberg("live.fares", "lake", schema=SCHEMA, max_files_per_micro_batch=5, skip_changes=True),
    ],
)
def test_what_is_written_is_read_as_the_same(source: IcebergSource) -> None:
    written = network(stream("fares", source, time="ts").query("all"))
    assert parse_network(network_to_document(written)).network == written
    sql = written.to_sql()
    assert "iceberg = 'live.fares'" in sql
    assert parse_network(sql, language=Language.SQL).network == written


def test_rows_have_no_identity_of_their_own() -> None:
    fares = stream("fares", iceberg("live.fares", schema=SCHEMA), time="ts").stream
    assert fares.identity == Identity(IdentityKind.NONE)


def test_each_problem_is_told_where_it_stands() -> None:
    assert list(problems_of("iceberg: live.fares")) == ["streams.fares.source"]
    problems = problems_of('iceberg: fares, schema: "ts timestamp"')
    assert 'a table of Iceberg is "namespace.table"' in problems["streams.fares.source"]
    problems = problems_of('iceberg: live.fares, schema: "ts timestamp", max_files_per_micro_batch: 0')
    assert list(problems) == ["streams.fares.source.max_files_per_micro_batch"]
    assert "skip_changes" in str(problems_of('iceberg: live.fares, schema: "ts timestamp", skip_changes: 5'))
    assert 'unknown column "ts"' in str(problems_of('iceberg: live.fares, schema: "at timestamp"'))


def test_python_refuses_the_same() -> None:
    with pytest.raises(InvalidNetworkError, match=r'iceberg "live.fares": only its catalog tells its columns: say'):
        stream("fares", iceberg("live.fares"), time="ts")
    for wrong in (0, 2.5, "many"):
        with pytest.raises(InvalidNetworkError, match="max_files_per_micro_batch must be at least 1, got"):
            iceberg("live.fares", max_files_per_micro_batch=wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidNetworkError, match="skip_changes is True or False, got 'yes'"):
        iceberg("live.fares", skip_changes="yes")  # type: ignore[arg-type]
    for of_streams in ({"skip_changes": True}, {"max_files_per_micro_batch": 5}):
        with pytest.raises(InvalidNetworkError, match="skip_changes and max_files_per_micro_batch are for streams"):
            relation("fares", iceberg("live.fares", **of_streams))
