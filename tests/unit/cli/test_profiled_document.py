"""Documents as `profile` reads them: in several micro-batches, whatever their folders hold."""

from __future__ import annotations

from pathlib import Path

from streamshed.cli.profiled_document import in_several_micro_batches
from streamshed.network.document.document import NetworkDocument, parse_network
from streamshed.network.source.sources import FolderSource
from streamshed.traces.file_pieces import PIECES, recorded_files

DOCUMENT = """
streamshed: 1
streams:
  packets: {{source: {{folder: packets, format: {format}, schema: "ts timestamp, size int"{more}}}, time: ts}}
operators:
  large: {{from: packets, filter: size > 9}}
queries:
  all: {{from: large, window: {{size: 1 minute}}, aggregates: {{n: count(*)}}}}
"""


def document(folder: Path, *, text_format: str = "json", more: str = "") -> NetworkDocument:
    return parse_network(DOCUMENT.format(format=text_format, more=more), folder=folder)


def source_of(found: NetworkDocument) -> FolderSource:
    [stream] = found.network.streams
    assert isinstance(stream.source, FolderSource)
    return stream.source


def write(folder: Path, files: int) -> None:
    (folder / "packets").mkdir()
    for number in range(files):
        (folder / "packets" / f"{number}.json").write_text('{"ts": "2024-01-01T00:00:00Z", "size": 1}\n' * 50)


def test_one_file_comes_in_pieces(tmp_path: Path) -> None:
    write(tmp_path, 1)
    given = document(tmp_path)
    found = in_several_micro_batches(given, tmp_path / "scratch")
    source = source_of(found)
    assert source.max_files_per_micro_batch == 1
    assert len(recorded_files(Path(source.path))) > PIECES // 2
    assert [str(node) for node in found.network.nodes] == [str(node) for node in given.network.nodes]
    assert [query.definition_id for query in found.network.queries] == [q.definition_id for q in given.network.queries]


def test_many_files_come_a_few_at_a_time(tmp_path: Path) -> None:
    write(tmp_path, 3 * PIECES + 1)
    source = source_of(in_several_micro_batches(document(tmp_path), tmp_path / "scratch"))
    assert (source.path, source.max_files_per_micro_batch) == (str(tmp_path / "packets"), 4)


def test_what_the_document_says_holds(tmp_path: Path) -> None:
    write(tmp_path, 1)
    for given in (
        document(tmp_path, more=", max_files_per_micro_batch: 3"),
        document(tmp_path, text_format="csv", more=", options: {header: true}"),
        document(tmp_path, text_format="csv", more=", options: {multiLine: true}"),
    ):
        assert in_several_micro_batches(given, tmp_path / "scratch") == given
    assert not (tmp_path / "scratch").exists()


def test_a_folder_without_files_is_left_alone(tmp_path: Path) -> None:
    given = document(tmp_path)
    assert in_several_micro_batches(given, tmp_path / "scratch") == given
