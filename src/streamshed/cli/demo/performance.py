"""The demo from beginning to end."""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from streamshed.cli.demo.answers import Pair, errors_by_query, paired
from streamshed.cli.demo.burst import BurstRun, run_burst
from streamshed.cli.demo.calibration import FilePlacer, calibrate
from streamshed.cli.demo.capacity import Capacity
from streamshed.cli.demo.deadline import Deadline
from streamshed.cli.demo.demo_packets import DemoPackets, make_packets, stage_calibration, stage_load
from streamshed.cli.demo.exact_answers import CollectedAnswers, exact_values
from streamshed.cli.demo.load import BURST_FACTOR, CALM_SHARE, DemoLoad, comparison_seconds, load_for
from streamshed.cli.demo.patience import calibration_seconds
from streamshed.cli.demo.result import BurstTimes, all_window_errors, answer_figures, micro_batch_figures
from streamshed.cli.demo.story import answer_table, headline, sentence
from streamshed.cli.demo.workload import MEANINGS, demo_network
from streamshed.cli.spark_session import session
from streamshed.cli.terminal.consoles import message_console, result_console, waiting
from streamshed.cli.terminal.exit_code import ExitCode
from streamshed.cli.terminal.progress_bar import progress_of
from streamshed.dashboard.network_picture import write_network_picture
from streamshed.dashboard.picture import write_picture
from streamshed.dashboard.timeline import Span, Timeline, timeline_of_journal
from streamshed.errors import MissingExtraError, SinkUnavailableError
from streamshed.network.run.policy_names import DEFAULT_POLICY
from streamshed.network.words.wording import count_text, seconds_text
from streamshed.page.screenshot import take_picture
from streamshed.page.serving import PageServer
from streamshed.planning.explain.explanation import Explanation
from streamshed.planning.explain.load_planner import explain_rates
from streamshed.spark.checkpoint.answer_files import ANSWERS_FOLDER
from streamshed.spark.checkpoint.description import DOCUMENT_FILE
from streamshed.spark.checkpoint.storage import NETWORK_FILE, STATISTICS_FILE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from streamshed.cli.demo.capacity import Capacity

_AIM_SECONDS = 215.0
_CHECKPOINT = "checkpoint"
_SCRATCH_PREFIX = ".streamshed-"
_SHOWN_QUERY = "tcp"
_GRACE_SECONDS = 45.0
"""For a machine that is slower than it was while it was calibrated; what does not fit then, either, is not begun."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoRequest:
    """What `streamshed demo` was asked."""

    out: Path
    seed: int
    cores: int
    memory: str
    as_json: bool


def perform(request: DemoRequest) -> ExitCode:
    """Calibrate, run the burst, compare, tell.

    Raises:
        StreamshedError: Something cannot be, or the run failed.
    """
    begin = time.monotonic()
    deadline = Deadline(_AIM_SECONDS + _GRACE_SECONDS)
    with (
        scratch(request.out) as folder,
        session("streamshed demo", cores=request.cores, memory=request.memory) as spark,
    ):
        _tell(f"nine queries over packets: {', '.join(MEANINGS.values())}")
        with waiting("generating packets"):
            packets = make_packets(folder, seed=request.seed)
        capacity, staging_seconds_per_row = _calibrated(packets, spark, deadline)
        load = load_for(
            capacity,
            seconds_left=deadline.seconds_left - _GRACE_SECONDS,
            staging_seconds_per_row=staging_seconds_per_row,
            grace_seconds=_GRACE_SECONDS,
        )
        _tell(
            f"this machine sustains {count_text(capacity.rows_per_second)} rows/s with micro-batches every"
            f" {load.trigger_seconds} s; the load will be 1× = {count_text(load.rows_per_second)} rows/s"
            f" ({CALM_SHARE:.0%} of it) for {load.phase_seconds} s, then {BURST_FACTOR}×, then 1× again"
        )
        run = _burst(packets, load, capacity, spark, deadline)
        _keep_journal(packets.folder / _CHECKPOINT, request.out / _CHECKPOINT)
        _tell("comparing with plain Spark over all rows")
        with progress_of("comparing") as show:
            truths = list(exact_values(spark, packets.rows, packets.hosts, deadline=deadline, show=show))
    if deadline.left_out:
        _tell(f"there was no time to compare {', '.join(deadline.left_out)}")
    _report(request, load, capacity, run, pairs=paired(truths, run.answers, run.gaps), seconds=time.monotonic() - begin)
    return ExitCode.DONE


def _calibrated(packets: DemoPackets, spark: SparkSession, deadline: Deadline) -> tuple[Capacity, float]:
    """Find out what the machine sustains, and how long writing a row beforehand takes."""
    begin = time.monotonic()
    feed = stage_calibration(packets)
    seconds_per_row = (time.monotonic() - begin) / feed.rows
    watched = packets.watched("calibration")
    run = demo_network(watched, packets.hosts).start(
        spark,
        checkpoint=str(packets.folder / "calibration-checkpoint"),
        sink=CollectedAnswers(),
        trigger="500 milliseconds",
        advisory=True,
    )
    with run, progress_of("finding out what this machine sustains") as show:
        capacity = calibrate(
            run,
            FilePlacer(feed, watched),
            limit_seconds=calibration_seconds(deadline.seconds_left),
            show=show,
        )
    return capacity, seconds_per_row


def _burst(
    packets: DemoPackets, load: DemoLoad, capacity: Capacity, spark: SparkSession, deadline: Deadline
) -> BurstRun:
    feed = stage_load(packets, load)
    watched = packets.watched("packets")
    network = demo_network(watched, packets.hosts)
    checkpoint = packets.folder / _CHECKPOINT
    return run_burst(
        network,
        spark,
        feed,
        load,
        prior=capacity.prior,
        seconds_left=lambda: deadline.seconds_left - comparison_seconds(load, capacity),
        watched=watched,
        checkpoint=checkpoint,
    )


def _report(
    request: DemoRequest,
    load: DemoLoad,
    capacity: Capacity,
    run: BurstRun,
    *,
    pairs: tuple[Pair, ...],
    seconds: float,
) -> None:
    times = _burst_times(run, load)
    engine = micro_batch_figures(run.journal, times, trigger_interval_seconds=load.trigger_seconds)
    answers = answer_figures(pairs, times)
    summary = sentence(load, capacity, engine, answers)
    picture, placement, figures = (request.out / name for name in ("demo.png", "demo_network.png", "demo.json"))
    write_picture(_timeline(run, load, pairs), picture, title=headline(engine, answers))
    write_network_picture(placement_at_peak(run, load, capacity), placement)
    measured = {
        "what_happened": summary,
        "seconds": round(seconds, 1),
        "seed": request.seed,
        "cores": request.cores,
        "capacity": asdict(capacity),
        "load": {**asdict(load), "burst_factor": BURST_FACTOR, "rows": load.rows},
        "engine": asdict(engine),
        "answers": {**asdict(answers), "all_windows_answered": run.drained},
        "queries_compared": sorted({pair.truth.query for pair in pairs}),
        "picture": str(picture),
        "placement": str(placement),
    }
    figures.write_text(json.dumps(measured, indent=2) + "\n", encoding="utf-8")
    if request.as_json:
        click.echo(json.dumps(measured, indent=2))
        return
    result_console().print(answer_table(pairs, times))
    click.echo(summary)
    click.echo(
        f"\npicture: {picture}, samplers in the burst: {placement}, figures: {figures},"
        f" all of it took {seconds_text(seconds)}"
        f"\n{_told_of_page(request.out)}"
    )


def _told_of_page(folder: Path) -> str:
    """Where all decisions are to be seen, and a picture of them where a browser is installed."""
    checkpoint, picture = folder / _CHECKPOINT, folder / "page.png"
    command = f"all decisions, as a page: streamshed page {checkpoint}"
    try:
        with PageServer(str(checkpoint)) as page, waiting("taking a picture of the page"):
            is_there = take_picture(f"{page.url}?still&query={_SHOWN_QUERY}", picture)
    except MissingExtraError as error:
        return f"{command} ({error})"
    return f"{command}, its picture: {picture}" if is_there else f"{command} (a picture of it needs Chromium)"


def _keep_journal(checkpoint: Path, target: Path) -> None:
    """Keep what `streamshed page` shows of a checkpoint that is to go."""
    shutil.rmtree(target, ignore_errors=True)
    of_clocks = ("*/journal/*.jsonl", f"*/{ANSWERS_FOLDER}/*.json", f"*/{STATISTICS_FILE}")
    files = [checkpoint / NETWORK_FILE, checkpoint / DOCUMENT_FILE]
    for file in [*files, *(file for pattern in of_clocks for file in checkpoint.glob(pattern))]:
        place = target / file.relative_to(checkpoint)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, place)


def _burst_times(run: BurstRun, load: DemoLoad) -> BurstTimes:
    begin, end = load.burst_seconds
    return BurstTimes(
        begin=run.start_seconds + begin,
        end=run.start_seconds + end,
        event_begin=run.event_start_seconds + begin,
        event_end=run.event_start_seconds + end,
    )


def _timeline(run: BurstRun, load: DemoLoad, pairs: tuple[Pair, ...]) -> Timeline:
    begin, end = load.burst_seconds
    errors = {
        query: tuple((ended / 1e6 - run.event_start_seconds, error) for ended, error in ends.items())
        for query, ends in errors_by_query(all_window_errors(pairs)).items()
    }
    return replace(
        timeline_of_journal(run.journal, start_seconds=run.start_seconds),
        errors=errors,
        error_name="error of the answers",
        spans=(Span(begin_seconds=begin, end_seconds=end, label=f"{BURST_FACTOR}× load"),),
    )


def _tell(text: str) -> None:
    message_console().print(text, soft_wrap=True)


def placement_at_peak(run: BurstRun, load: DemoLoad, capacity: Capacity) -> Explanation:
    """Explain the rates of the micro-batch in which the smallest share of the work was done."""
    journal = run.journal
    decided = journal[journal["effective_sampling_rates"].map(len) > 0]
    peak = decided.sort_values("work_share", kind="stable").iloc[0]
    rows_per_second = float(peak["offered_rows"]) / load.trigger_seconds
    return explain_rates(
        run.network,
        run.statistics,
        dict(peak["effective_sampling_rates"]),
        policy=DEFAULT_POLICY,
        load_factor=rows_per_second / capacity.rows_per_second,
        rows_per_second=rows_per_second,
        trigger_interval_seconds=load.trigger_seconds,
        kept_shares=dict(peak["kept_shares"]),
    )


@contextmanager
def scratch(out: Path) -> Iterator[Path]:
    """Make a new folder on the file system of the results; at the end it is removed, and nothing else.

    Args:
        out: The folder of the results, created where it is missing.

    Yields:
        A new folder in it, hidden; two demos that share a folder of results have one each.

    Raises:
        SinkUnavailableError: Nothing can be written there.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=_SCRATCH_PREFIX, dir=out))
    except OSError as error:
        raise SinkUnavailableError(f"{out}: cannot be written: {error.strerror or error}") from error
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
