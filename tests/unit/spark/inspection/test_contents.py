"""What a checkpoint holds, and that one of the version before is read."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from streamshed.cli.terminal.exit_code import ExitCode
from streamshed.errors import IncompatibleCheckpointError
from streamshed.spark.admit.set_aside_limit import DELETED_FILE
from streamshed.spark.checkpoint.storage import Storage
from streamshed.spark.inspection.contents import Files, contents_of
from streamshed.spark.windows.manifest import Manifest, most_partitions, read_manifest
from streamshed.spark.windows.manifest_versions import MIGRATIONS, VERSION, releases
from tests.unit.cli.command_line import streamshed
from tests.unit.spark.inspection.checkpoints import BEGUN, CLOCK, FINISHED, stopped_checkpoint, unpacked_checkpoint


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    return unpacked_checkpoint(tmp_path)


@pytest.mark.parametrize(("version", "unpack"), [(8, unpacked_checkpoint), (9, partial(stopped_checkpoint, version=9))])
def test_the_manifest_of_each_version_before_is_read(
    version: int, unpack: Callable[[Path], Path], tmp_path: Path
) -> None:
    folder = Storage.reached(str(unpack(tmp_path) / CLOCK))
    assert json.loads(folder.read_sealed("manifest.json") or "")["version"] == version
    manifest = read_manifest(folder)
    assert manifest is not None
    assert (manifest.streams, manifest.state_settings) == ((("packets", "folder"),), {})
    assert Manifest.from_json(manifest.to_json()) == manifest


def test_the_manifest_of_an_older_version_is_written_as_the_present_one(checkpoint: Path) -> None:
    folder = Storage.reached(str(checkpoint / CLOCK))
    manifest = read_manifest(folder)
    assert manifest is not None
    assert (manifest.partitions, len(manifest.classes), manifest.written_by) == (1, 2, {})
    assert json.loads(manifest.to_json())["version"] == VERSION


def test_a_checkpoint_keeps_its_partitions_whatever_is_asked_for(tmp_path: Path) -> None:
    folder = Storage.reached(str(stopped_checkpoint(tmp_path)))
    assert [most_partitions(folder, clocks, 1) for clocks in ([CLOCK], [CLOCK, "new"], ["new"])] == [2, 2, 1]
    assert most_partitions(folder, [CLOCK, "new"], 8) == 8


def test_a_new_manifest_says_which_releases_wrote_it(checkpoint: Path) -> None:
    before = read_manifest(Storage.reached(str(checkpoint / CLOCK)))
    assert before is not None
    written = Manifest(before.streams, 1, partitions=1, layout=before.layout)
    assert Manifest.from_json(written.to_json()).written_by == releases()


def test_a_later_version_is_refused_with_what_to_do(checkpoint: Path) -> None:
    folder = Storage.reached(str(checkpoint / CLOCK))
    folder.write_sealed("manifest.json", json.dumps({"version": VERSION + 1}))
    says = f"format {VERSION + 1}, this release reads {min(MIGRATIONS)} to {VERSION}: start it with the release that"
    with pytest.raises(IncompatibleCheckpointError, match=says):
        read_manifest(folder)


def test_versions_lead_to_the_present_one_without_a_step_missing() -> None:
    assert [*sorted(MIGRATIONS), VERSION] == list(range(min(MIGRATIONS), VERSION + 1))


def test_what_a_clock_holds(checkpoint: Path) -> None:
    contents = contents_of(Storage.reached(str(checkpoint)), CLOCK)
    assert (contents.begun, contents.finished, contents.provider) == (BEGUN, FINISHED, "RocksDBStateStoreProvider")
    assert [(stage.number, stage.name, stage.partitions, stage.stores) for stage in contents.operators] == [
        (0, "stateStoreSave", 1, ("default",)),
        (1, "stateStoreSave", 1, ("default",)),
    ]
    everything = [file for file in (checkpoint / CLOCK).rglob("*") if file.is_file()]
    assert sum(files.count for files in contents.files.values()) == len(everything)
    assert sum(files.size_bytes for files in contents.files.values()) == sum(file.stat().st_size for file in everything)
    state = [file for file in everything if "state" in file.parts]
    assert contents.state_bytes == sum(file.stat().st_size for file in state)
    plans = list((checkpoint / CLOCK / "plans").iterdir())
    assert contents.files["plans"] == Files(len(plans), sum(file.stat().st_size for file in plans))


def test_the_command_shows_it(checkpoint: Path) -> None:
    outcome = streamshed("checkpoint", "show", str(checkpoint))
    assert outcome.code == ExitCode.DONE
    assert "made for       packets (folder); 1 partitions, max_depth 1, families: none" in outcome.output
    assert (
        "micro-batches  2 has finished last, 3 was begun and runs again; watermark 2026-01-01T00:01:40+00:00"
        in outcome.output
    )
    shown = json.loads(streamshed("checkpoint", "show", str(checkpoint), "--json").output)
    (clock,) = shown["clocks"]
    assert clock["manifest"]["state_settings"] == {}
    assert (clock["manifest"]["version"], clock["manifest"]["classes"], clock["finished"]) == (VERSION, 2, FINISHED)


def test_the_command_shows_how_state_is_kept(checkpoint: Path) -> None:
    folder = Storage.reached(str(checkpoint / CLOCK))
    manifest = read_manifest(folder)
    assert manifest is not None
    settings = {"providerClass": "a.b.C", "rowChecksum.enabled": "true", "rocksdb.maxMemoryUsageMB": "500"}
    folder.write_sealed("manifest.json", replace(manifest, state_settings=settings).to_json())
    assert (
        "rowChecksum.enabled true, rocksdb.maxMemoryUsageMB 500\n"
        in streamshed("checkpoint", "show", str(checkpoint)).output
    )


def test_the_command_tells_how_many_rows_that_were_set_aside_are_gone(checkpoint: Path) -> None:
    assert "set aside" not in streamshed("checkpoint", "show", str(checkpoint)).output
    Storage.reached(str(checkpoint / CLOCK)).write_sealed(DELETED_FILE, json.dumps({"rows": 12_345, "until": 1}))
    assert (
        "set aside      12,345 more rows, which are deleted" in streamshed("checkpoint", "show", str(checkpoint)).output
    )
    shown = json.loads(streamshed("checkpoint", "show", str(checkpoint), "--json").output)
    assert shown["clocks"][0]["deleted_rows"] == 12_345


def test_a_damaged_manifest_is_shown_all_the_same(checkpoint: Path) -> None:
    (checkpoint / CLOCK / "manifest.json").write_text("{}")
    outcome = streamshed("checkpoint", "show", str(checkpoint))
    assert outcome.code == ExitCode.DONE
    assert "manifest.json cannot be read" in outcome.output
    assert json.loads(streamshed("checkpoint", "show", str(checkpoint), "--json").output)["clocks"][0]["finished"] == 2


@pytest.mark.parametrize("name", ["offsets/3", "commits/2", "metadata", "state/0/_metadata/metadata"])
def test_what_spark_has_written_is_shown_as_far_as_it_can_be_read(checkpoint: Path, name: str) -> None:
    (checkpoint / CLOCK / "spark" / name).write_text("v1\n{")
    shown = streamshed("checkpoint", "show", str(checkpoint), "--json")
    assert shown.code == ExitCode.DONE
    assert json.loads(shown.output)["clocks"][0]["begun"] == BEGUN
    assert streamshed("checkpoint", "verify", str(checkpoint)).code == ExitCode.REFUSED


def test_the_command_says_by_its_exit_code_whether_it_is_whole(checkpoint: Path) -> None:
    whole = streamshed("checkpoint", "verify", str(checkpoint))
    assert (whole.code, whole.output) == (ExitCode.DONE, f"{checkpoint}: whole: {CLOCK}\n")
    (checkpoint / CLOCK / "control.json").write_text("")
    harmless = streamshed("checkpoint", "verify", str(checkpoint))
    assert harmless.code == ExitCode.DONE
    assert f"{checkpoint}/{CLOCK}/control.json: harmless: " in harmless.output
    (checkpoint / CLOCK / "spark/offsets/1").unlink()
    assert streamshed("checkpoint", "verify", str(checkpoint)).code == ExitCode.REFUSED
    report = json.loads(streamshed("checkpoint", "verify", str(checkpoint), "--json").output)
    assert (report["whole"], report["clocks"]) == (False, [CLOCK])
    assert [flaw["is_harmless"] for flaw in report["flaws"]] == [False, True]


def test_what_is_no_checkpoint_is_one_line(tmp_path: Path) -> None:
    outcome = streamshed("checkpoint", "verify", str(tmp_path))
    assert outcome.code == ExitCode.REFUSED
    assert outcome.errors.count("\n") == 1
