"""What came of a kill loop: figures, and what must not be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import dataset, parquet

from streamshed.network.model.network import QueryNetwork
from streamshed.planning.tree.quantization import WHOLE, sampling_rate_of
from streamshed.spark.loop.history import History
from tests.spark.harness import found_in
from tests.spark.kill_loop.checks import (
    MICRO_BATCH,
    SHUT_DOWN,
    Delivered,
    exact_violations,
    gap_violations,
    guest_violations,
    longest_gap,
    pairs_expected,
    sampled_violations,
)
from tests.spark.kill_loop.feed import SCHEMAS, fed
from tests.spark.kill_loop.ledger import Ledger
from tests.spark.kill_loop.places import Places
from tests.spark.kill_loop.queries import CLOCKS, EXACT_QUERIES, GUEST, ExactQuery, clock_of, guest_over, network_over
from tests.spark.kill_loop.violation import Violation
from tests.spark.trunks.drawn_rows import DrawnRows, rows_with_numbers
from tests.spark.trunks.inputs import STEP
from tests.spark.trunks.scenario import Shed

_RATE_CLOSE = 1e-9


@dataclass(frozen=True)
class Verdict:
    """What came of it.

    Attributes:
        figures: By name, as JSON has them.
        violations: What was lost, doubled or changed.
        missing: What did not happen and has to, for the run to prove anything.
    """

    figures: Mapping[str, Any]
    violations: tuple[Violation, ...]
    missing: tuple[str, ...]

    def to_document(self) -> dict[str, Any]:
        """Return it as what JSON can hold."""
        return {**self.figures, "missing": list(self.missing), "violations": [asdict(one) for one in self.violations]}


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a kill loop has left.

    Attributes:
        ledgers: By clock, what the checkpoint said meanwhile.
        network: All queries.
        fed: By stream, all rows, with the second in which each came.
        delivered: By query, what the sink has of it.
        kinds: By kind and query, how many rows the sink has.
        journal: That of the first clock.
        drawn: The number of each event, in the order of the files.
        codes: By micro-batch, the code of the rate at which the query `sampled` was.
    """

    ledgers: Mapping[str, Ledger]
    network: QueryNetwork
    fed: Mapping[str, pa.Table]
    delivered: Mapping[str, Delivered]
    kinds: Counter[tuple[str, str]]
    journal: pd.DataFrame
    drawn: pd.DataFrame
    codes: Mapping[int, int]

    @classmethod
    def of(cls, places: Places, ledgers: Mapping[str, Ledger]) -> Outcome:
        """Read it.

        Args:
            places: Where all is.
            ledgers: By clock, what the checkpoint said meanwhile.
        """
        network = network_over(places.input).with_queries(guest_over(places.input))
        table = dataset.dataset(places.answers, format="parquet", partitioning="hive").to_table()
        rows = list(found_in(table, 0))
        of = {
            (query.name, kind): [row for row in rows if (row.query, row.kind) == (query.name, kind)]
            for query in network.queries
            for kind in ("answer", "gap")
        }
        return cls(
            ledgers=ledgers,
            network=network,
            fed={name: fed(places.input, name) for name in SCHEMAS},
            delivered={
                query.name: Delivered(query.name, of[query.name, "answer"], of[query.name, "gap"])
                for query in network.queries
            },
            kinds=Counter((row.kind, row.query) for row in rows),
            journal=History(places.clock(CLOCKS[0]).below("journal")).table(),
            drawn=parquet.read_table(places.drawn).to_pandas(),
            codes=ledgers[CLOCKS[0]].codes(network, "sampled"),
        )

    def events(self) -> DrawnRows:
        """The events in order of time, with what each draws and the micro-batch that read it."""
        readers = self.ledgers[CLOCKS[0]].readers("events")
        of_seconds = [readers.get(second, -1) for second in range(self.fed["events"][STEP][-1].as_py() + 1)]
        sheds = [Shed(codes={"sampled": self.codes.get(number, WHOLE)}) for number in of_seconds]
        rows = rows_with_numbers(self.fed["events"], self.drawn, sheds)
        micro_batches = np.array(of_seconds)[rows[STEP]]
        return replace(rows, columns={**rows.columns, MICRO_BATCH: micro_batches}).those(
            np.argsort(rows.seconds, kind="stable")
        )


def verdict(outcome: Outcome) -> Verdict:
    """Judge it."""
    violations = tuple(_violations(outcome))
    figures = _figures(outcome)
    return Verdict(figures, violations, tuple(_missing(figures["queries"])))


def _violations(outcome: Outcome) -> Iterator[Violation]:
    for clock, ledger in outcome.ledgers.items():
        yield from ledger.violations
        done = ledger.last_done()
        # The last one may have been begun as the run was stopped.
        for number in range(0 if done is None else done + 1):
            if number not in ledger.plans or number not in ledger.files:
                yield Violation("plan", f"micro-batch {number} of {clock}", "no plan or no files", "both")
    for name, rows in outcome.fed.items():
        yield from _unread(outcome.ledgers[clock_of(name)], name, rows)
    yield from _journal_violations(outcome)
    for kind, query in outcome.kinds:
        if kind not in {"answer", "gap"} or (kind == "gap" and query not in {*EXACT_QUERIES, "guest"}):
            yield Violation(query, "all", f"rows of kind {kind}", "none")
    for delivered in outcome.delivered.values():
        yield from delivered.doubled()
    for name, exact in EXACT_QUERIES.items():
        delivered = outcome.delivered[name]
        for windows in exact.windows:
            yield from exact_violations(delivered, windows.aggregate, windows.answers(outcome.fed["events"]))
        yield from gap_violations(delivered, exact)
    yield from exact_violations(
        outcome.delivered["pairs"], "n", pairs_expected(outcome.fed["calls"], outcome.fed["alerts"])
    )
    yield from guest_violations(outcome.delivered["guest"], GUEST.answers(outcome.fed["events"]))
    yield from sampled_violations(outcome.delivered["sampled"], outcome.events())


def _unread(ledger: Ledger, stream: str, rows: pa.Table) -> Iterator[Violation]:
    """Each file is read by one micro-batch."""
    counts = Counter(second for files in ledger.files.values() for name, second in files if name == stream)
    for second in range(rows[STEP][-1].as_py() + 1):
        if counts[second] != 1:
            yield Violation(stream, f"file {second}", f"read by {counts[second]} micro-batches", "by one")


def _journal_violations(outcome: Outcome) -> Iterator[Violation]:
    """The journal has each micro-batch once at most, with the rates that its plan says."""
    journal = outcome.journal
    for number, count in Counter(journal.micro_batch_id).items():
        if count > 1:
            yield Violation("journal", f"micro-batch {number}", f"{count} rows", "one")
    for number, reason, rates in zip(
        journal.micro_batch_id, journal.reason, journal.effective_sampling_rates, strict=True
    ):
        planned = sampling_rate_of(outcome.codes[number]) if number in outcome.codes else None
        if reason != "unplanned" and (planned is None or abs(rates["sampled"] - planned) > _RATE_CLOSE):
            yield Violation("journal", f"micro-batch {number}", str(rates), f"sampled {planned}")


def _figures(outcome: Outcome) -> dict[str, Any]:
    numbers = sorted(outcome.ledgers[CLOCKS[0]].files)
    return {
        "micro_batches": len(numbers),
        "micro_batches_that_shed": sum(outcome.codes.get(number, WHOLE) != WHOLE for number in numbers),
        "least_sampling_rate": min(sampling_rate_of(code) for code in outcome.codes.values()),
        "reasons": dict(Counter(outcome.journal.reason)),
        "rows": {name: rows.num_rows for name, rows in outcome.fed.items()},
        "pairs": len(outcome.delivered["pairs"].answers),
        "queries": {query: _query_figures(delivered) for query, delivered in outcome.delivered.items()},
    }


def _query_figures(delivered: Delivered) -> dict[str, Any]:
    query = EXACT_QUERIES.get(delivered.query, ExactQuery(()))
    windows = {row.window_start: row.exact for row in delivered.answers}
    figures: dict[str, Any] = {
        "windows": len(windows) + len(delivered.gaps),
        "exact": sum(windows.values()),
        "sampled": sum(not exact for exact in windows.values()),
        "gaps": len(delivered.gaps),
    }
    if query.max_gap:
        figures["shut_down"] = sum(row.reason == SHUT_DOWN for row in delivered.gaps)
        figures["longest_gap"], figures["max_gap"] = longest_gap(delivered, query.slide), query.max_gap
    return figures


def _missing(figures: Mapping[str, Mapping[str, int]]) -> Iterator[str]:
    """What has to happen, or nothing is proved.

    Args:
        figures: By query.
    """
    if not figures["sampled"]["sampled"]:
        yield "nothing was sampled"
    if not figures["sampled"]["exact"]:
        yield "no window of the query that is sampled was exact"
    for name in ("subset", "nested"):
        if not figures[name]["gaps"] - figures[name]["shut_down"]:
            yield f'no window of "{name}" was dropped'
        if not figures[name]["exact"]:
            yield f'no window of "{name}" was answered'
    if not figures["pairs"]["exact"]:
        yield "no pair was found"
    if not figures["guest"]["exact"]:
        yield "no window of the query that comes and goes was answered"
