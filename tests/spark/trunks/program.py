"""A part of a trunk's course as a process of its own: up to the kill, or from there to the end."""

from __future__ import annotations

import sys

from tests.spark.budget import note_all_starts
from tests.spark.sessions import session_for_tests
from tests.spark.trunks.course import DeadlySink, cast_of, go_on, started


def main() -> None:
    """Run; the arguments are the part, Spark's master, the trunk, its folder, and the scenarios."""
    note_all_starts()
    part, master, *arguments = sys.argv[1:]
    cast = cast_of(arguments)
    session = session_for_tests(master, cast.trunk.session)
    if part == "to_the_end":
        go_on(cast, session)
        return
    with started(cast, session, 0, DeadlySink(cast, cast.trunk.killed_in)) as run:
        while run.is_active:
            run.await_termination(0.2)
        raise SystemExit(f"stopped: {run.exception}")


if __name__ == "__main__":
    main()
