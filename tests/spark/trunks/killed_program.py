"""A trunk that is killed: run as a process of its own, it stops dead in a given step."""

from __future__ import annotations

import sys

from tests.spark.sessions import session_for_tests
from tests.spark.trunks.course import DeadlySink, cast_of, started


def main() -> None:
    """Run until killed; the arguments are the trunk, its folder, and the scenarios."""
    cast = cast_of(sys.argv[1:])
    sink = DeadlySink(cast, cast.trunk.killed_in)
    with started(cast, session_for_tests(options=cast.trunk.session), 0, sink) as run:
        run.await_termination()


if __name__ == "__main__":
    main()
