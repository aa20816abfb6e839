"""Damaged documents and odd calls of the public API, many of them: what comes of them that should not.

    python scripts/fuzz.py --documents 100000 --calls 200000 --seed 1

Prints how many were tried and each kind of fault once, with what led to it; exits with 1 if there is any. A document is
a network or an error of streamshed; a call is a value, such an error, or Python's own `TypeError` for a call that does
not fit the signature. Messages are short, whatever they are about. Nothing is started and no Spark is needed.
"""

from __future__ import annotations

import argparse
import random
import sys
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.odd_calls import odd_call
from tests.odd_documents import EXAMPLES, document_fault, odd_document
from tests.unit.network.document.test_validation_of_anything import DOCUMENT

_SHOWN = 300


@dataclass
class Faults:
    """What was found.

    Attributes:
        tried: How many documents or calls.
        counts: How often each kind of fault came.
        examples: What led to it first.
    """

    tried: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    examples: dict[str, str] = field(default_factory=dict)

    def take(self, said: str, error: Exception | None) -> None:
        """Take in what came of one."""
        self.tried += 1
        if error is None:
            return
        inside = [at for at in traceback.extract_tb(error.__traceback__) if "streamshed" in at.filename]
        where = f"{Path(inside[-1].filename).name}:{inside[-1].lineno}" if inside else said.partition("(")[0]
        kind = f"{type(error).__name__} in {where}"
        self.counts[kind] = self.counts.get(kind, 0) + 1
        self.examples.setdefault(kind, f"{str(error)[:_SHOWN]}\n    {said[:_SHOWN]}")

    def report(self, what: str) -> str:
        """Return what was found as text."""
        lines = [f"{what}: {self.tried} tried, {sum(self.counts.values())} faults of {len(self.counts)} kinds"]
        lines += [f"  {count} times {kind}: {self.examples[kind]}" for kind, count in self.counts.items()]
        return "\n".join(lines)


def main() -> int:
    """Run as asked on the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=10_000)
    parser.add_argument("--calls", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    sound = [DOCUMENT, *(file.read_text(encoding="utf-8") for file in sorted(EXAMPLES.glob("*.yaml")))]

    def of_document(draws: random.Random) -> tuple[str, Exception | None]:
        text = odd_document(draws, sound)
        return text, document_fault(text)

    runs: tuple[tuple[str, int, Callable[[random.Random], tuple[str, Exception | None]]], ...] = (
        ("documents", asked.documents, of_document),
        ("calls", asked.calls, odd_call),
    )
    found = []
    for what, count, trial in runs:
        draws, faults = random.Random(asked.seed), Faults()
        for _ in range(count):
            faults.take(*trial(draws))
        print(faults.report(what), flush=True)  # noqa: T201 - a program
        found.append(faults)
    return 1 if any(faults.counts for faults in found) else 0


if __name__ == "__main__":
    sys.exit(main())
