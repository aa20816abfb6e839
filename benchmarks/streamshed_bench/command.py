"""`streamshed bench`: runs a benchmark and writes what it measured."""

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType

import click

from streamshed.cli.terminal.failure import RunFailedError, failure_text
from streamshed.cli.terminal.group import show_note
from streamshed.errors import SinkUnavailableError, near_miss
from streamshed_bench import BENCHMARKS, ON_CLUSTER, ON_TEXT, BenchOptions, BenchResult
from streamshed_bench.errors import UnfinishedBenchmarkError
from streamshed_bench.machine import cores, source_commit, versions
from streamshed_bench.result_files import check_files, picture_of, write_files


class BenchmarkName(click.ParamType[str]):
    """The name of a benchmark."""

    name = "benchmark"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Check the name."""
        if value not in BENCHMARKS:
            names = ", ".join(BENCHMARKS)
            self.fail(f"no benchmark {value!r}{near_miss(value, BENCHMARKS)}; there are: {names}", param, ctx)
        return value


@click.command(short_help="Run a benchmark and write its figures and a picture.")
@click.argument("name", type=BenchmarkName())
@click.option("--quick", is_flag=True, help="End within three minutes on two cores; the result says what is left out.")
@click.option(
    "--trace", type=click.Path(path_type=Path), help="A Parquet file of packets, or the folder of recorded streams."
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Equal seeds, equal inputs.")
@click.option("--text", is_flag=True, help="`throughput` only: packets come as lines of JSON.")
@click.option("--cluster", is_flag=True, help="`burst` only: a standalone cluster on loopback does the work.")
@click.option(
    "--json",
    "file",
    type=click.Path(path_type=Path, dir_okay=False),
    required=True,
    help="Where the result goes; the picture goes beside it, as .png.",
)
def bench(*, name: str, quick: bool, trace: Path | None, seed: int, text: bool, cluster: bool, file: Path) -> None:
    """Run the benchmark NAME, such as throughput, overhead, burst, accuracy or coverage, and write what it measures.

    The JSON file and the picture are written when it is through; benchmarks/README.md says what their figures mean.
    """
    _refuse_variants(name, text=text, cluster=cluster)
    from streamshed.cli.terminal.progress_bar import progress_of

    check_files(file)
    begin = time.time()
    with _earlier_result(file), progress_of(f"bench {name}") as show, _interrupted_by_sigterm():
        options = BenchOptions(
            quick=quick,
            trace=None if trace is None else str(trace),
            seed=seed,
            text=text,
            cluster=cluster,
            progress=lambda step, share: show(share, step),
        )
        result = _run(name, options)
    report = {
        "benchmark": name,
        "quick": quick,
        "figures": dict(result.figures),
        "details": dict(result.details),
        "versions": versions(),
        "cores": cores(),
        "seed": seed,
        "text": text,
        "cluster": cluster,
        "commit": source_commit(),
        "trace": None if trace is None else str(trace),
        "started_at": datetime.fromtimestamp(begin, UTC).isoformat(timespec="seconds"),
        "seconds": round(time.time() - begin, 1),
    }
    try:
        write_files(file, report, result.picture)
    except SinkUnavailableError as error:
        raise RunFailedError(str(error)) from error
    for line in _lines(result):
        click.echo(line)
    click.echo(f"written: {file}, {picture_of(file)}")


def _refuse_variants(name: str, *, text: bool, cluster: bool) -> None:
    if text and name not in ON_TEXT:
        raise click.UsageError(f"--text: {name} does not run over lines of JSON; {', '.join(ON_TEXT)} does")
    if cluster and name not in ON_CLUSTER:
        raise click.UsageError(f"--cluster: {name} does not run on a cluster of its own; {', '.join(ON_CLUSTER)} does")


def _run(name: str, options: BenchOptions) -> BenchResult:
    try:
        return BENCHMARKS[name](options)
    except UnfinishedBenchmarkError as error:
        raise RunFailedError(f"benchmark {name}: {error}") from error
    except Exception as error:
        from streamshed.spark.common.failures import is_failure_of_spark

        if not is_failure_of_spark(error):
            raise
        raise RunFailedError(f"benchmark {name}: {failure_text(error)}") from error


@contextmanager
def _earlier_result(file: Path) -> Iterator[None]:
    """Where a benchmark ends early, say whose result it is that lies there."""
    try:
        yield
    except BaseException:
        if file.exists():
            show_note(f"{file} is still the result of an earlier run")
        raise


def _lines(result: BenchResult) -> list[str]:
    width = max(map(len, result.figures), default=0)
    return [f"{name:<{width}}  {'null' if value is None else f'{value:.4g}'}" for name, value in result.figures.items()]


@contextmanager
def _interrupted_by_sigterm() -> Iterator[None]:
    """Take SIGTERM for Ctrl-C, so that what was started is stopped, folders removed; later ones cut none of that short.

    By default SIGTERM ends Python at once, and leaves processes that it started to themselves.

    Raises:
        KeyboardInterrupt: SIGTERM came.
    """

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
