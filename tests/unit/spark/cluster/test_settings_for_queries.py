"""A checkpoint goes on with the settings of state that it began with; manifest and session say so."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from streamshed.spark.checkpoint.storage import Storage
from streamshed.spark.cluster.session import (
    LOCAL_FILES_SETTINGS,
    SAFETY_SETTINGS,
    settings_for_files,
    settings_for_queries,
    state_settings,
)
from tests.unit.spark.inspection.checkpoints import CLOCK, unpacked_checkpoint

CHECKSUMS = "spark.sql.streaming.stateStore.rowChecksum.enabled"


class Settings(dict[str, str]):
    """The settings of a session."""

    def set(self, name: str, value: str) -> None:
        self[name] = value

    def unset(self, name: str) -> None:
        del self[name]


def session_with(settings: dict[str, str]) -> Any:
    return SimpleNamespace(conf=Settings(settings))


@pytest.mark.parametrize("of_session", [{}, {CHECKSUMS: "true"}], ids=["of no value", "of another value"])
def test_a_checkpoint_that_began_without_checksums_of_rows_goes_on_without(
    tmp_path: Path, of_session: dict[str, str]
) -> None:
    """Spark heeds the session in this only where a checkpoint begins."""
    spark = Storage.at(str(unpacked_checkpoint(tmp_path) / CLOCK / "spark"))
    session = session_with(of_session)
    with settings_for_queries(session, 7, spark):
        state = state_settings(session)
        assert session.conf["spark.sql.shuffle.partitions"] == "7"
    assert (state["rowChecksum.enabled"], state["checkpointFormatVersion"]) == ("false", "1")
    assert session.conf == of_session


def test_a_new_one_begins_with_them(tmp_path: Path) -> None:
    session = session_with({})
    with settings_for_queries(session, 7, Storage.at(str(tmp_path))):
        assert session.conf.items() >= SAFETY_SETTINGS.items()
    assert session.conf == {}


@pytest.mark.parametrize(("paths", "are_local"), [(["/in", "in"], True), (["/in", "s3a://in"], False)])
def test_local_files_are_looked_at_without_a_job(paths: list[str], *, are_local: bool) -> None:
    session = session_with({})
    with settings_for_files(session, paths):
        assert (session.conf.items() >= LOCAL_FILES_SETTINGS.items()) is are_local
    assert session.conf == {}


def test_what_the_session_says_of_files_holds() -> None:
    own = dict.fromkeys(LOCAL_FILES_SETTINGS, "32")
    session = session_with(own)
    with settings_for_files(session, ["/in"]):
        assert session.conf == own
    assert session.conf == own
