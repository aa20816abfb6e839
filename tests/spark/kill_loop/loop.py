"""Kill a network under overload at random moments, over and over, and see that nothing was lost, doubled or changed.

    .venv/bin/python scripts/kill_loop.py                       a hundred kills, about half an hour
    .venv/bin/python scripts/kill_loop.py --kills 5 --seed 3    five, at other moments

Standard output has a line for each kill, then the figures and each violation, and as its last line all of it as JSON.
SIGTERM, or Ctrl-C, ends the kills early; those that were are judged. The exit code is 1 where something was lost,
doubled or changed, and 2 where too little was shed for that to say much.
"""

from __future__ import annotations

import argparse
import json
import shutil
import signal
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import numpy as np

from tests.spark.kill_loop.attempts import Attempts
from tests.spark.kill_loop.feed import Feed
from tests.spark.kill_loop.ledger import Ledger
from tests.spark.kill_loop.places import Places
from tests.spark.kill_loop.queries import CLOCKS
from tests.spark.kill_loop.verdict import Outcome, Verdict, verdict


def killed(path: Path, kills: int, seed: int, *, until_calm: bool) -> Verdict:
    """Run the loop.

    Args:
        path: A new folder for all its files.
        kills: How many.
        seed: Of the rows, and of the moments.
        until_calm: Whether to feed until a calm time, in which all is exact again.
    """
    places, began = Places(path), time.monotonic()
    ledgers = {clock: Ledger(places.clock(clock)) for clock in CLOCKS}
    attempts = Attempts(places, list(ledgers.values()), np.random.default_rng(seed))
    feed = Feed(places.input, seed)
    feed.start()
    try:
        with suppress(KeyboardInterrupt):
            while attempts.count < kills:
                seconds, phase = attempts.kill_one()
                done = ledgers[CLOCKS[0]].last_done()
                _say(f"kill {attempts.count} of {kills}: after {seconds:.1f} s, {phase}; micro-batch {done} is done")
        attempts.drain(lambda: feed.end(in_calm=until_calm))
    finally:
        feed.end(in_calm=False)
    judged = verdict(Outcome.of(places, ledgers))
    figures = {
        "kills": attempts.count,
        "seed": seed,
        "phases": {str(phase): count for phase, count in sorted(attempts.phases.items())},
        "micro_batches_run_again": len(attempts.repeated),
        "seconds": round(time.monotonic() - began),
        "seconds_fed": feed.second,
    }
    return Verdict({**figures, **judged.figures}, judged.violations, judged.missing)


def main() -> int:
    """Run it as the command line says."""
    parser = argparse.ArgumentParser(description="Kill a network at random moments, and see that nothing is lost.")
    parser.add_argument("--kills", type=int, default=100, help="how many (100)")
    parser.add_argument("--seed", type=int, default=1, help="of the rows and the moments (1)")
    parser.add_argument("--folder", type=Path, help="a new folder for all files; else one that goes if all is well")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    path = Path(tempfile.mkdtemp(prefix="kill_loop_")) if arguments.folder is None else arguments.folder.absolute()
    _say(f"files are in {path}")
    judged = killed(path, arguments.kills, arguments.seed, until_calm=True)
    code = 1 if judged.violations else 2 if judged.missing else 0
    for name, figure in judged.figures.items():
        _say(f"{name}: {figure}")
    for missing in judged.missing:
        _say(f"this run proves little: {missing}")
    for violation in judged.violations:
        _say(f"violation: {violation}")
    _say(f"{len(judged.violations)} violations")
    _say(json.dumps(judged.to_document()))
    if code == 0 and arguments.folder is None:
        shutil.rmtree(path)
    return code


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
