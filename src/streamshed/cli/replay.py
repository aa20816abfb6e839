"""`streamshed replay`: feeds a trace into a folder as if it happened now."""

import json
import time
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from streamshed.cli.terminal.exit_code import ExitCode
from streamshed.cli.terminal.group import show_note
from streamshed.cli.terminal.parameters import DURATION, POSITIVE_NUMBER

if TYPE_CHECKING:
    from streamshed.cli.replay_plan import ReplayPlan
    from streamshed.traces.feeder import FeedReport
    from streamshed.traces.staged_feed import StagedFeed


@click.command(short_help="Feed a trace into a folder at a chosen speed or load.")
@click.argument("trace", type=click.Path(path_type=Path))
@click.option("--to", "folder", type=click.Path(path_type=Path), required=True, help="The folder to feed.")
@click.option(
    "--format",
    "shape",
    type=click.Choice(["typed", "kafka"]),
    default="typed",
    show_default=True,
    help="`typed`: the trace's columns; `kafka`: key, value (JSON), topic, partition, offset, timestamp.",
)
@click.option("--time", "time_column", default="ts", show_default=True, help="Time column of the trace.")
@click.option("--topic", help="`kafka`: the topic.  [default: trace]")
@click.option("--key", help="`kafka`: the column whose text is the key.  [default: keys are null]")
@click.option("--partitions", type=click.IntRange(min=1), help="`kafka`: number of partitions.  [default: 4]")
@click.option("--speed", type=POSITIVE_NUMBER, help="Rows per second, as a multiple of the trace's.  [default: 1]")
@click.option("--rows-per-second", type=POSITIVE_NUMBER, help="Rows per second at 1×, instead of `--speed`.")
@click.option("--profile", help="Load over time, as multiples of the rows per second: `1x:60s,3x:60s,1x:60s`.")
@click.option(
    "--rates", type=click.Path(path_type=Path), help="A file with the rows of each second, one number per line."
)
@click.option("--duration", type=DURATION, help="Length of a constant load.  [default: the trace once]")
@click.option("--repeat", is_flag=True, help="Start the trace again at its end. Times and offsets go on.")
@click.option(
    "--pacing",
    type=click.Choice(["steady", "trace"]),
    default="steady",
    show_default=True,
    help="`steady`: exactly the load; `trace`: keep the trace's bursts.",
)
@click.option("--interval", type=DURATION, default="500 ms", show_default=True, help="Time between files.")
@click.option("--now", is_flag=True, help="Event times begin now.  [default: where the trace's begin]")
@click.option(
    "--name", default="feed", show_default=True, help="Prefix of file names. Two replays into one folder need two."
)
@click.option(
    "--workers", type=click.IntRange(min=1), default=2, show_default=True, help="Threads that write the files."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object at the end.")
def replay(*, trace: Path, folder: Path, now: bool, as_json: bool, **options: Any) -> ExitCode:
    """Feed the Parquet file (or folder) TRACE into a folder that a stream watches.

    All files are written first, beside the folder, and then renamed into it when they are due. So the replay takes no
    time from Spark.
    """
    from streamshed.cli.replay_job import replay_job
    from streamshed.cli.staging import feed_with_progress, stage_for_now, stage_with_progress
    from streamshed.traces.stage import discard

    job, plan = replay_job(trace, folder, **options)
    begin = time.monotonic()
    feed = stage_for_now(job) if now else stage_with_progress(job)
    staging_seconds = time.monotonic() - begin
    try:
        start = feed.start_microseconds / 1e6 if now else None
        if start is not None and time.time() > start:
            show_note(
                f"staging took longer than expected: event times are {time.time() - start:.1f} s behind the clock"
            )
            start = None
        report, interrupted = feed_with_progress(feed, folder, start_seconds=start)
    finally:
        discard(feed)
    result = _result(trace, plan, feed, report) | {
        "to": str(folder),
        "staging_seconds": round(staging_seconds, 3),
    }
    click.echo(json.dumps(result, indent=2) if as_json else _sentence(folder, feed, report))
    return ExitCode.INTERRUPTED if interrupted else ExitCode.DONE


def _result(trace: Path, plan: "ReplayPlan", feed: "StagedFeed", report: "FeedReport") -> dict[str, Any]:
    return {
        "trace": str(trace),
        "rows_per_second": plan.rows_per_second,
        "passes": plan.passes,
        "duration_seconds": feed.duration_seconds,
        "first_event_time": datetime.fromtimestamp(feed.start_microseconds / 1e6, UTC).isoformat(),
        "next_offsets": list(feed.next_offsets),
        **asdict(report),
    }


def _sentence(folder: Path, feed: "StagedFeed", report: "FeedReport") -> str:
    how = "fed" if report.finished else f"interrupted after {report.files} of {len(feed.files)} files:"
    return (
        f"{how} {report.rows:,} rows in {report.files} files into {folder},"
        f" at worst {report.worst_lateness_seconds * 1000:.0f} ms late"
    )
