"""A part of the course of trunks as a process of its own: up to the kill, or from there to the end."""

from __future__ import annotations

import signal
import sys
import traceback
from collections.abc import Sequence
from contextlib import ExitStack

from pyspark.sql import SparkSession

from tests.spark.budget import note_all_starts
from tests.spark.sessions import session_for_tests
from tests.spark.trunks.course import FAILED, go_on, run_until_killed
from tests.spark.trunks.trunk import Cast


def main() -> None:
    """Run; the arguments are the part, Spark's master, and the trunks."""
    note_all_starts()
    part, master, *arguments = sys.argv[1:]
    casts = [Cast.from_json(argument) for argument in arguments]
    session = session_for_tests(master)
    if part == "to_the_end":
        for cast in casts:
            go_on(cast, session)
        return
    _await_kill(casts, session)


def _await_kill(casts: Sequence[Cast], session: SparkSession) -> None:
    with ExitStack() as running:
        for cast in casts:
            try:
                run_until_killed(cast, session, running)
            except Exception:  # noqa: BLE001 - whatever it is, the others go on
                (cast.path / FAILED).write_text(traceback.format_exc())
        signal.pause()


if __name__ == "__main__":
    main()
