"""How the rows of a stream are admitted."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.accumulators import Accumulator

from streamshed.spark.plan.plan_client import PlanClient
from streamshed.spark.plan.plan_columns import Plan
from streamshed.statistics.task_report import TaskReports


@dataclass(frozen=True)
class Admission:
    """How a stream's rows are admitted in a micro-batch.

    Attributes:
        plan: `PLAN_SCHEMA`, with `OPENED`, `CARRIER_OPENED` and `NOW`; None: in batch mode, all rows are admitted.
        size_columns: The stream's columns by which rows may be chosen; empty: those that its network asks for.
        whole_words: What a row passes while nothing is shed, where windows may be dropped; empty: none may be.
        cohort_keys: What queries group by whose windows may be dropped by group.
        drops_rows: Whether rows may be left out by their times although no window is dropped.
        block_sums: Whether state holds sums of cohorts of blocks, so that whole blocks may be left unread.
        client: What tasks ask which blocks are read; None: all are.
        task_reports: What tasks tell of a stream that they read; None: nobody asks.
        samples: Whether rows may be sampled; if not, none asks what it would pass: the less there is to do for a row,
            the better Java compiles it.
        clock: What tells `NOW` where there is no plan; None: nothing does, and event times may be anything.
    """

    plan: Plan | None = None
    size_columns: tuple[str, ...] = ()
    whole_words: tuple[int, ...] = ()
    cohort_keys: tuple[tuple[str, ...], ...] = ()
    drops_rows: bool = False
    block_sums: bool = False
    client: PlanClient | None = None
    task_reports: Accumulator[TaskReports] | None = None
    samples: bool = True
    clock: Plan | None = None
