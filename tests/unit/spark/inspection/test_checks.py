"""Each damage to a checkpoint is found and placed, and a whole one has none."""

from __future__ import annotations

import json
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from streamshed.errors import SourceUnavailableError
from streamshed.spark.checkpoint.storage import Storage
from streamshed.spark.inspection.checks import Flaw, flaws
from streamshed.spark.inspection.contents import clocks_of
from tests.unit.spark.inspection.checkpoints import CLOCK, stopped_checkpoint, unpacked_checkpoint


@pytest.fixture
def clock_folder(tmp_path: Path) -> Path:
    return unpacked_checkpoint(tmp_path) / CLOCK


@pytest.mark.parametrize("version", [9, 10])
def test_what_a_stop_has_left_is_whole(tmp_path: Path, version: int) -> None:
    assert found_in(stopped_checkpoint(tmp_path, version) / CLOCK) == []


def found_in(clock_folder: Path) -> list[Flaw]:
    return flaws(Storage.reached(str(clock_folder.parent)), clock_folder.name)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def test_what_a_run_has_left_is_whole_and_is_not_changed(clock_folder: Path) -> None:
    (clock_folder / "plans/.000000000003.json.0.tmp").write_text("a draft that a crash has left")
    before = contents(clock_folder)
    assert found_in(clock_folder) == []
    assert contents(clock_folder) == before


def flipped(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def without(*names: str) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        for name in names:
            (folder / name).unlink()

    return damage


def with_flipped(name: str) -> Callable[[Path], None]:
    return lambda folder: flipped(folder / name)


def with_text(name: str, text: str) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        (folder / name).write_text(text)

    return damage


def with_older_spark(folder: Path) -> None:
    """Spark's folder is put back as it was after the first micro-batch."""
    for name in ("offsets/1", "offsets/2", "offsets/3", "commits/1", "commits/2"):
        (folder / "spark" / name).unlink()


DAMAGES: dict[str, tuple[Callable[[Path], None], str, str]] = {
    "a bit of an offset": (with_flipped("spark/offsets/2"), "spark/offsets/2", "differs from its checksum"),
    "a bit of state": (with_flipped("spark/state/0/0/3.changelog"), "spark/state/0/0/3.changelog", "checksum"),
    "half a file": (with_text("spark/metadata", ""), "spark/metadata", "differs from its checksum"),
    "no manifest": (without("manifest.json"), "manifest.json", "is gone"),
    "a bit of the manifest": (with_flipped("manifest.json"), "manifest.json", "is damaged"),
    "no query": (without("spark/metadata"), "spark/metadata", "Spark would begin another query"),
    "no offset": (without("spark/offsets/1"), "spark/offsets/1", "is gone, though those before and after it"),
    "no latest offset": (without("spark/offsets/2"), "spark/offsets/2", "though the micro-batch has finished"),
    "no commit": (without("spark/commits/2"), "spark/commits/2", "the next micro-batch has begun"),
    "no state": (without("spark/state/0/0/2.changelog"), "spark/state/0/0", "version 2 of the state is gone"),
    "no latest state": (without("spark/state/1/0/3.changelog"), "spark/state/1/0", "version 3 of the state is gone"),
    "no partition": (lambda folder: shutil.rmtree(folder / "spark/state/1/0"), "spark/state/1/0", "version 1 of"),
    "no plan": (without("plans/000000000002.json"), "plans/000000000002.json", "is gone: what was shed"),
    "a bit of a plan": (with_flipped("plans/000000000001.json"), "plans/000000000001.json", "cannot be read"),
    "an older copy": (with_older_spark, "spark/offsets", "end with micro-batch 0, the journal with 2"),
    "no JSON of Spark's": (with_text("spark/commits/2", "v1\n{"), "spark/commits/2", "differs from its checksum"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_found(clock_folder: Path, damage: str) -> None:
    change, place, says = DAMAGES[damage]
    change(clock_folder)
    told = [flaw for flaw in found_in(clock_folder) if flaw.place == f"{CLOCK}/{place}" and says in flaw.says]
    assert [flaw.is_harmless for flaw in told] == [False]


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("control.json", "is learned anew"),
        ("statistics.json", "is learned anew"),
        ("set_aside.json", "are counted anew"),
        ("journal/00000000.jsonl", "row"),
    ],
)
def test_what_can_be_done_without_is_harmless(clock_folder: Path, name: str, says: str) -> None:
    (clock_folder / name).write_text("{")
    (flaw,) = found_in(clock_folder)
    assert (flaw.place, flaw.is_harmless) == (f"{CLOCK}/{name}", True)
    assert says in flaw.says


def test_only_files_that_a_commit_names_are_missed_when_damaged(tmp_path: Path) -> None:
    checkpoint = stopped_checkpoint(tmp_path)
    store = checkpoint / CLOCK / "spark/state/0/0"
    (changes,) = store.glob("2_*.changelog")
    (sums,) = store.glob(".2_*.changelog.crc")
    changes.with_name("2_another.changelog").write_text("half of it")
    sums.with_name(".2_another.changelog.crc").write_bytes(sums.read_bytes())
    [flaw] = found_in(checkpoint / CLOCK)
    assert (Path(flaw.place).name, flaw.is_harmless) == ("2_another.changelog", True)
    changes.write_text("half of it")
    damage = {Path(flaw.place).name: flaw.is_harmless for flaw in found_in(checkpoint / CLOCK)}
    assert damage == {"2_another.changelog": True, changes.name: False}
    changes.unlink()
    assert "version 2 of the state is gone" in " ".join(flaw.says for flaw in found_in(checkpoint / CLOCK))


def test_other_sources_than_those_of_the_manifest_are_found(clock_folder: Path) -> None:
    storage = Storage.reached(str(clock_folder))
    manifest = json.loads(storage.read_sealed("manifest.json") or "")
    manifest["sources"]["lines"].append(0)
    storage.write_sealed("manifest.json", json.dumps(manifest))
    (flaw,) = found_in(clock_folder)
    assert "is the checkpoint that of another network?" in flaw.says


def test_state_is_read_from_the_latest_whole_file(clock_folder: Path) -> None:
    """Its tables are those that it names, in the sizes that it names."""
    store = clock_folder / "spark/state/0/0"
    (store / "SSTs").mkdir()
    table = {"localFileName": "1.sst", "dfsSstFileName": "1-a.sst", "sizeBytes": 7}
    with zipfile.ZipFile(store / "2.zip", "w") as archive:
        archive.writestr("metadata", f"v1\n{json.dumps({'sstFiles': [table]})}")
    (store / "1.changelog").unlink()
    for content, lack in [(None, "is gone"), ("six by", "has 6"), ("seven b", None)]:
        if content is not None:
            (store / "SSTs/1-a.sst").write_text(content)
        lacks = [flaw.says for flaw in found_in(clock_folder)]
        assert lacks == ([] if lack is None else [f"SSTs/1-a.sst should have 7 bytes and {lack}"])
    (store / "2.zip").write_bytes(b"PK")
    assert [flaw.says.partition(":")[0] for flaw in found_in(clock_folder)] == ["2.zip cannot be read"]


def test_a_checkpoint_that_was_moved_from_where_spark_looks_for_schemas_is_told(clock_folder: Path) -> None:
    """Stages of Python's write the whole path down, and a restart elsewhere fails (tried with windows of ten rows)."""
    stage = clock_folder / "spark/state/1"
    schema = stage / "_stateSchema/default/0_a"
    store = {"storeName": "default", "numPartitions": 1, "stateSchemaFilePaths": [f"file:{schema}"]}
    description = {"operatorInfo": {"operatorName": "x"}, "stateStoreInfo": [store]}
    (stage / "_metadata/v2").mkdir()
    (stage / "_metadata/v2/0").write_text(f"v2\n{json.dumps(description)}")
    schema.parent.mkdir(parents=True)
    schema.write_bytes(b"\0\2v3")
    assert found_in(clock_folder) == []
    schema.unlink()
    (flaw,) = found_in(clock_folder)
    assert (flaw.place, flaw.is_harmless) == (f"{CLOCK}/spark/state/1", False)
    assert f'"file:{schema}", which is gone' in flaw.says


def test_what_is_no_checkpoint_is_told(tmp_path: Path) -> None:
    with pytest.raises(SourceUnavailableError, match="is there no such folder"):
        clocks_of(Storage.reached(str(tmp_path / "none")))
    (tmp_path / "notes").write_text("")
    with pytest.raises(SourceUnavailableError, match="it has no folder of a clock"):
        clocks_of(Storage.reached(str(tmp_path)))
    spark = unpacked_checkpoint(tmp_path) / CLOCK / "spark"
    with pytest.raises(SourceUnavailableError, match="another streaming query of Spark, or the folder `spark`"):
        clocks_of(Storage.reached(str(spark)))
