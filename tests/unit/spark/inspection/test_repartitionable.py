"""What state can be given another number of partitions, and what is refused before anything is touched."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from streamshed.cli.main import cli
from streamshed.cli.terminal.exit_code import ExitCode
from streamshed.errors import IncompatibleCheckpointError
from streamshed.spark.checkpoint.hold import CheckpointHold
from streamshed.spark.checkpoint.stop_note import StopNote, note_stop
from streamshed.spark.checkpoint.storage import Storage
from streamshed.spark.inspection.checks import flaws
from streamshed.spark.inspection.repartitionable import repartitionable
from streamshed.spark.inspection.state_stores import state_operators
from tests.unit.spark.inspection.checkpoints import BEGUN, CLOCK, FINISHED, unpacked_checkpoint


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """A run was stopped in it in good order, with a micro-batch that had been begun and was called off."""
    unpacked = unpacked_checkpoint(tmp_path)
    note_stop(Storage.reached(str(unpacked / CLOCK)), StopNote(last_written=FINISHED))
    return unpacked


def refusal(checkpoint: Path, partitions: int = 3) -> str:
    with pytest.raises(IncompatibleCheckpointError) as refused:
        repartitionable(Storage.reached(str(checkpoint)), partitions)
    return str(refused.value)


def rewritten(file: Path, **settings: str) -> None:
    """Change settings of Spark that a micro-batch ran under; the file's checksum goes."""
    lines = file.read_text().splitlines()
    header = json.loads(lines[1])
    header["conf"] |= {name.replace("__", "."): value for name, value in settings.items()}
    file.write_text("\n".join([lines[0], json.dumps(header), *lines[2:]]))
    file.with_name(f".{file.name}.crc").unlink(missing_ok=True)


def test_the_micro_batch_that_was_called_off_can_be_taken_back(checkpoint: Path) -> None:
    (clock,) = repartitionable(Storage.reached(str(checkpoint)), 3)
    assert (clock.clock, clock.begun, clock.finished, clock.called_off) == (CLOCK, BEGUN, FINISHED, BEGUN)
    assert clock.interrupted is None


def test_what_has_as_many_partitions_stays_as_it_is(checkpoint: Path) -> None:
    assert repartitionable(Storage.reached(str(checkpoint)), 1) == []


def without_note(checkpoint: Path) -> None:
    (checkpoint / CLOCK / "stopped.json").unlink()


def with_a_note_of_more(checkpoint: Path) -> None:
    note_stop(Storage.reached(str(checkpoint / CLOCK)), StopNote(last_written=BEGUN))


def with_a_damaged_note(checkpoint: Path) -> None:
    (checkpoint / CLOCK / "stopped.json").write_text("{")


def test_so_is_the_first_micro_batch_of_all(checkpoint: Path) -> None:
    without_note(checkpoint)
    spark = checkpoint / CLOCK / "spark"
    for file in [*(spark / "commits").iterdir(), *(spark / "offsets").glob("*[1-9]*")]:
        file.unlink()
    assert "micro-batch 0 was interrupted, and may have been answered in part: start" in refusal(checkpoint)


@pytest.mark.parametrize("change", [without_note, with_a_note_of_more, with_a_damaged_note])
def test_what_may_have_been_answered_in_part_is_refused(checkpoint: Path, change: Callable[[Path], None]) -> None:
    change(checkpoint)
    assert f"micro-batch {BEGUN} was interrupted, and may have been answered in part: start" in refusal(checkpoint)


def test_state_that_is_tied_to_its_partition_is_refused(checkpoint: Path) -> None:
    metadata = checkpoint / CLOCK / "spark/state/1/_metadata/metadata"
    metadata.write_text(metadata.read_text().replace("stateStoreSave", "transformWithStateInPandasExec"))
    metadata.with_name(".metadata.crc").unlink(missing_ok=True)
    assert "stages 1 (transformWithStateInPandasExec) have: start with a new checkpoint folder" in refusal(checkpoint)


def test_a_damaged_checkpoint_is_refused(checkpoint: Path) -> None:
    shutil.rmtree(checkpoint / CLOCK / "spark/state/1/0")
    assert f"{CLOCK}/spark/state/1/0 version 1 of the state is gone" in refusal(checkpoint)


def test_a_checkpoint_that_nothing_has_run_on_is_refused(tmp_path: Path) -> None:
    (tmp_path / CLOCK / "spark").mkdir(parents=True)
    assert "has nothing in it yet" in refusal(tmp_path)


def test_an_interrupted_repartitioning_is_to_be_repeated(checkpoint: Path) -> None:
    offsets = checkpoint / CLOCK / "spark/offsets"
    shutil.copy(offsets / str(FINISHED), offsets / str(BEGUN))
    rewritten(offsets / str(BEGUN), spark__sql__shuffle__partitions="3")
    (clock,) = repartitionable(Storage.reached(str(checkpoint)), 3)
    assert clock.interrupted == 3
    says = "its repartitioning to 3 partitions was interrupted: repeat that first, with --partitions 3"
    assert says in refusal(checkpoint, 2)
    assert says in refusal(checkpoint, 1)
    told = [flaw.says for flaw in flaws(Storage.reached(str(checkpoint)), CLOCK) if flaw.place.endswith("spark/state")]
    assert told == [
        "is being moved to 3 partitions, which was interrupted: repeat streamshed checkpoint repartition --partitions 3"
    ]


def test_stages_have_as_many_partitions_as_the_last_micro_batch(checkpoint: Path) -> None:
    """What Spark says of a stage is that of its first micro-batch."""
    rewritten(checkpoint / CLOCK / f"spark/offsets/{FINISHED}", spark__sql__shuffle__partitions="3")
    operators = state_operators(Storage.reached(str(checkpoint / CLOCK / "spark")))
    assert [operator.partitions for operator in operators] == [3, 3]


HOLDING = """
import sys
from streamshed.spark.checkpoint.hold import CheckpointHold
from streamshed.spark.checkpoint.storage import Storage
hold = CheckpointHold(Storage.reached(sys.argv[1]))
print("holds", flush=True)
sys.stdin.read()
"""


def test_a_checkpoint_that_a_run_uses_is_refused_until_that_dies(tmp_path: Path) -> None:
    folder = Storage.reached(str(tmp_path))
    command = [sys.executable, "-c", HOLDING, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "holds\n"
        with CheckpointHold(folder), pytest.raises(IncompatibleCheckpointError, match="a run uses it: stop it first"):
            CheckpointHold(folder, alone=True)
        process.kill()
    with CheckpointHold(folder, alone=True), pytest.raises(IncompatibleCheckpointError, match="is being repartitioned"):
        CheckpointHold(folder)
    with CheckpointHold(folder, alone=True):
        pass


def test_the_command_leaves_alone_what_is_as_asked_and_refuses_the_rest(checkpoint: Path) -> None:
    command = ["checkpoint", "repartition", str(checkpoint), "--partitions"]
    done = CliRunner().invoke(cli, [*command, "1"])
    assert (done.exit_code, done.output) == (ExitCode.DONE, f"{checkpoint}: has 1 partitions already\n")
    without_note(checkpoint)
    refused = CliRunner().invoke(cli, [*command, "2"])
    assert refused.exit_code == ExitCode.REFUSED
    assert "cannot have 2 partitions" in refused.output
