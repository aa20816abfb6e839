"""Files beside a checkpoint that are damaged or lost: the loss is harmless, or an error that names the file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamshed.errors import DamagedFileError, IncompatibleCheckpointError
from streamshed.spark.checkpoint.storage import Storage
from streamshed.spark.loop.history import History
from streamshed.spark.plan.plan_row import PlanRow
from streamshed.spark.plan.written_plans import WrittenPlans
from streamshed.spark.windows.manifest import FILE, read_manifest, refuse_other_checkpoint

TEXTS = st.text(st.characters(codec="utf-8"), max_size=50)


@given(text=TEXTS, other=st.binary(max_size=80))
def test_what_was_not_written_is_not_read(tmp_path_factory: pytest.TempPathFactory, text: str, other: bytes) -> None:
    storage = Storage.at(str(tmp_path_factory.mktemp("sealed")))
    storage.write_sealed("file", text)
    assert storage.read_sealed("file") == text
    path = Path(storage.root) / "file"
    written = path.read_bytes()
    for damaged in (other, written[:-1], written[: len(written) // 2], b"", b"x" + written, written + other):
        path.write_bytes(damaged)
        if damaged == written:
            continue
        with pytest.raises(DamagedFileError, match='file" is damaged'):
            storage.read_sealed("file")
    path.unlink()
    assert storage.read_sealed("file") is None


@pytest.mark.parametrize("damaged", [None, b"", b"\xff{", b"{}"])
def test_without_the_plan_of_the_last_micro_batch_nothing_goes_on(tmp_path: Path, damaged: bytes | None) -> None:
    plans = WrittenPlans(Storage.at(str(tmp_path)))
    plans.refuse_lost(None)
    plans.write(7, PlanRow(micro_batch_id=7, open=0, streams={}).to_json())
    plans.refuse_lost(7)
    path = tmp_path / "000000000007.json"
    if damaged is None:
        path.unlink()
    else:
        path.write_bytes(damaged)
    with pytest.raises(IncompatibleCheckpointError, match=r"000000000007\.json.*start with a new checkpoint folder"):
        plans.refuse_lost(7)


def test_what_else_lies_among_plans_is_no_plan(tmp_path: Path) -> None:
    plans = WrittenPlans(Storage.at(str(tmp_path)))
    plans.write(7, PlanRow(micro_batch_id=7, open=0, streams={}).to_json())
    (tmp_path / "notes.json").write_text("mine")
    last = plans.last()
    assert last is not None
    assert last.micro_batch_id == 7


def test_a_checkpoint_whose_manifest_is_lost_or_damaged_is_refused(tmp_path: Path) -> None:
    folder = Storage.at(str(tmp_path))
    assert read_manifest(folder) is None
    folder.write_text("spark/offsets/0", "")
    with pytest.raises(IncompatibleCheckpointError, match=r'manifest\.json" is gone'):
        read_manifest(folder)
    for damaged in (b"", b"\xff", b"{}", json.dumps({"version": 6}).encode()):
        folder.write_bytes(FILE, damaged)
        with pytest.raises(IncompatibleCheckpointError, match=r'manifest\.json" is damaged'):
            read_manifest(folder)


def test_a_clock_may_be_called_what_spark_calls_its_own(tmp_path: Path) -> None:
    root = Storage.at(str(tmp_path))
    root.write_text("metadata/manifest.json", "")
    root.write_text("offsets/manifest.json", "")
    refuse_other_checkpoint(root)
    native = root.below("native")
    native.write_text("metadata", "")
    native.write_text("offsets/0", "")
    with pytest.raises(IncompatibleCheckpointError, match="of another streaming query"):
        refuse_other_checkpoint(native)


def test_of_a_damaged_journal_only_rows_are_lost(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    history = History(Storage.at(str(tmp_path)))
    for number in range(3):
        history.append({"micro_batch_id": number})
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "00000000.jsonl").write_bytes(b'{"micro_batch_id": 0}\n\xff\xfe\n{"micro_batch_id": 2')
    again = History(Storage.at(str(tmp_path)))
    assert '2 rows: "' in caplog.text
    again.append({"micro_batch_id": 3})
    assert again.table().micro_batch_id.tolist() == [0, 3]
