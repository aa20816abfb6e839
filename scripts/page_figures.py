#!/usr/bin/env python3
"""Measures the page of a run in headless Chromium: how soon it shows a decision, what it weighs, and what it holds.

    .venv/bin/python scripts/page_figures.py out/demo/checkpoint --minutes 60
    .venv/bin/python scripts/page_figures.py --queries 1000 --minutes 5

A copy of the checkpoint is replayed: a row of its journal a second with the answers of that micro-batch, as if all had
happened now. `--queries` makes a checkpoint of so many queries instead. There is a line of JSON for each minute; the
last line has all figures. `--metrics 1000` measures instead what the metrics of so many queries cost.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median, quantiles
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from playwright.sync_api import CDPSession, Page, sync_playwright
from tests.unit.dashboard.otlp_receiver import otlp_receiver
from tests.unit.dashboard.reporting_run import ReportingRun
from tests.unit.dashboard.statuses import answered, status
from tests.unit.page.recorded import Recorded

from streamshed.dashboard.metrics_server import MetricsServer
from streamshed.dashboard.run_history import RunHistory
from streamshed.dashboard.run_metrics import RunMetrics
from streamshed.spark.checkpoint.answer_files import ANSWERS_FOLDER, KEPT_FILES
from streamshed.spark.checkpoint.storage import Storage
from streamshed.spark.loop.history import History

STREAMSHED = Path(sys.executable).with_name("streamshed")
NOTE_DECISIONS = """() => {
  window.shownAt = {};
  window.longTasks = [];
  const table = document.querySelector("#decisions tbody");
  new MutationObserver(() => {
    const number = table.rows[0]?.dataset.number;
    if (number) window.shownAt[number] ??= Date.now() / 1000;
  }).observe(table, { childList: true });
  new PerformanceObserver((list) => window.longTasks.push(...list.getEntries().map((task) => task.duration / 1000)))
    .observe({ entryTypes: ["longtask"] });
}"""
TAKE_NOTES = """() => {
  const taken = { shown_at: window.shownAt, long_tasks: window.longTasks };
  window.shownAt = {};
  window.longTasks = [];
  return taken;
}"""
FRAMES = """([seconds, pixels]) => new Promise((resolve) => {
  const times = [];
  const frame = (now) => {
    times.push(now);
    for (const scrolled of document.querySelectorAll(".graph, .scrolled")) scrolled.scrollTop += pixels;
    if (now - times[0] < 1000 * seconds) requestAnimationFrame(frame);
    else resolve(times.slice(1).map((time, number) => (time - times[number]) / 1000));
  };
  requestAnimationFrame(frame);
})"""
WEIGHT = """() => {
  const loaded = [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")];
  const bytes = (entries) => entries.reduce((sum, entry) => sum + entry.transferSize, 0);
  const ofRun = loaded.filter((entry) => /\\.json($|\\?)/.test(entry.name));
  return { requests: loaded.length, bytes: bytes(loaded), bytes_of_run: bytes(ofRun) };
}"""


def replay_of(checkpoint: Path, folder: Path) -> Callable[[int], None]:
    """Copy a checkpoint without what it has done; returns what does it again, a micro-batch a call."""
    (clock,) = (path.parent.name for path in checkpoint.glob("*/journal"))
    leftovers = shutil.ignore_patterns("journal", ANSWERS_FOLDER, "spark", "plans")
    shutil.copytree(checkpoint, folder, ignore=leftovers, dirs_exist_ok=True)
    journal = [path.read_text() for path in sorted(checkpoint.glob("*/journal/*.jsonl"))]
    rows = [json.loads(line) for segment in journal for line in segment.splitlines()]
    answered = {int(path.stem): json.loads(path.read_text()) for path in checkpoint.glob(f"*/{ANSWERS_FOLDER}/*.json")}
    of_clock = Storage.at(str(folder)).below(clock)
    history, answers = History(of_clock.below("journal")), of_clock.below(ANSWERS_FOLDER)

    def finish(number: int) -> None:
        row = rows[number % len(rows)]
        began = time.time() - row["processing_seconds"]
        if row["micro_batch_id"] in answered:
            moved = _moved(answered[row["micro_batch_id"]], began - row["started_at_seconds"])
            answers.write_text(f"{number:012d}.json", json.dumps(moved | {"micro_batch_id": number}))
            for name in answers.names()[:-KEPT_FILES]:
                answers.delete(name)
        history.append(row | {"micro_batch_id": number, "started_at_seconds": began})

    return finish


def _moved(document: dict[str, Any], seconds: float) -> dict[str, Any]:
    """Answers of windows that are so much later."""
    times = ("window_start", "window_end")
    later = [
        answer | {name: answer[name] + seconds for name in times if name in answer} for answer in document["answers"]
    ]
    return document | {"answers": later}


def finish_of_many(recorded: Recorded, number: int) -> None:
    """Let a micro-batch finish; half of the time rows are shed."""
    recorded.add(share=0.5 if number % 20 >= 10 else 1.0, started_at_seconds=time.time() - 1.25)


class MicroBatchEachSecond:
    """Lets micro-batches finish, one a second, until it is closed.

    Args:
        finish: Lets the micro-batch of a number finish.
    """

    def __init__(self, finish: Callable[[int], None]) -> None:
        self._finish, self._is_closed = finish, threading.Event()
        self.written_at: dict[str, float] = {}
        finish(0)
        self._thread = threading.Thread(target=self._run, name="micro-batches")
        self._thread.start()

    def close(self) -> None:
        """Let none finish any more."""
        self._is_closed.set()
        self._thread.join()

    def _run(self) -> None:
        number = 1
        while not self._is_closed.wait(1.0):
            self._finish(number)
            self.written_at[str(number)] = time.time()
            number += 1


@contextmanager
def served(folder: Path) -> Iterator[tuple[str, int]]:
    """Serve the page from a process of its own; yields its address and the id of the process."""
    command = [str(STREAMSHED), "page", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            yield next(iter(server.stdout or [])).strip(), server.pid
        finally:
            server.terminate()


@contextmanager
def opened(url: str, browser: str) -> Iterator[tuple[Page, str]]:
    """Open the page and the answers of a query in a browser, and let it note what it shows; yields the query, too."""
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        page = launched.new_page(viewport={"width": 1280, "height": 900})
        page.goto(url)
        query = page.locator("#queries tbody tr").first
        query.click()
        page.wait_for_selector("#answers:not([hidden])")
        page.evaluate(NOTE_DECISIONS)
        yield page, query.get_attribute("data-name") or ""
        launched.close()


@contextmanager
def left_open(url: str, browser: str, folder: Path) -> Iterator[int]:
    """Open the page in a browser that nothing drives, for a driven one keeps what it receives; yields its process."""
    options = ["--headless", "--no-sandbox", f"--user-data-dir={folder}", "--remote-debugging-port=0"]
    with subprocess.Popen([browser, *options, url], stderr=subprocess.DEVNULL) as process:
        try:
            yield process.pid
        finally:
            process.terminate()


def held(cdp: CDPSession, server: int, browser: int) -> dict[str, float]:
    """What the page and its server hold now, garbage collected."""
    cdp.send("HeapProfiler.collectGarbage")
    metrics = {metric["name"]: metric["value"] for metric in cdp.send("Performance.getMetrics")["metrics"]}
    return {
        "heap_mb": metrics["JSHeapUsedSize"] / 1e6,
        "dom_nodes": metrics["Nodes"],
        "listeners": metrics["JSEventListeners"],
        "server_mb": resident_mb(server),
        "renderer_mb": max(map(resident_mb, renderers(browser)), default=0.0),
    }


def resident_mb(process_id: int) -> float:
    """How much memory of the machine a process has."""
    status = Path(f"/proc/{process_id}/status").read_text()
    return float(status.split("VmRSS:")[1].split()[0]) * 1024 / 1e6


def renderers(browser: int) -> list[int]:
    """The processes of a browser that show pages."""
    parents, shown = {}, []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            if b"--type=renderer" in (folder / "cmdline").read_bytes():
                shown.append(int(folder.name))
        except OSError:  # it has ended
            continue

    def is_of_browser(process_id: int) -> bool:
        return process_id == browser or (process_id in parents and is_of_browser(parents[process_id]))

    return list(filter(is_of_browser, shown))


def measured(
    page: Page, server: int, browser: int, micro_batches: MicroBatchEachSecond, minutes: int
) -> dict[str, Any]:
    """Watch the page for some minutes."""
    weight = page.evaluate(WEIGHT)
    cdp = page.context.new_cdp_session(page)
    cdp.send("Performance.enable")
    page.wait_for_timeout(5_000)  # the other browser may still load
    samples, delays, long_tasks = [held(cdp, server, browser)], [], []
    for minute in range(1, minutes + 1):
        page.wait_for_timeout(60_000)
        notes = page.evaluate(TAKE_NOTES)
        delays += [
            shown - micro_batches.written_at[number]
            for number, shown in notes["shown_at"].items()
            if number in micro_batches.written_at
        ]
        long_tasks += notes["long_tasks"]
        samples.append(held(cdp, server, browser))
        print(json.dumps({"minute": minute, **samples[-1]}), flush=True)  # noqa: T201
    return {
        "decisions": len(delays),
        "delay_seconds": _spread(delays),
        "weight": weight,
        "first": samples[0],
        "last": samples[-1],
        "most": {name: max(sample[name] for sample in samples) for name in samples[0]},
        "long_task_seconds": _spread(long_tasks),
        "frame_seconds": _spread(page.evaluate(FRAMES, [20, 0])),
        "frame_seconds_scrolled": _spread(page.evaluate(FRAMES, [20, 7])),
    }


def metrics_figures(queries: int) -> dict[str, Any]:
    """What metrics take: for each micro-batch, for each time that Prometheus asks, and for each push."""
    answers = {f"q{query}": answered(100, exact=50, error=0.01) for query in range(queries)}
    run = ReportingRun(*(status(number, **answers) for number in range(200)))
    history, micro_batch_seconds, scrape_seconds = RunHistory(), [], []
    for finished in run.statuses:
        began = time.perf_counter()
        history = history.after(finished)
        micro_batch_seconds.append(time.perf_counter() - began)
    with MetricsServer(run, port=0) as server:
        for _ in range(50):
            began = time.perf_counter()
            with urllib.request.urlopen(server.url) as answer:  # noqa: S310 - of this process
                answer.read()
            scrape_seconds.append(time.perf_counter() - began)
    return {
        "micro_batch_seconds": _spread(micro_batch_seconds),
        "scrape_seconds": _spread(scrape_seconds),
        "push_seconds": _spread(list(_push_seconds(run))),
    }


def _push_seconds(run: ReportingRun) -> Iterator[float]:
    """How long pushes to a receiver in this process take, what it does included."""
    with otlp_receiver() as receiver:
        exporter = OTLPMetricExporter(endpoint=f"{receiver.url}/v1/metrics")
        reader = PeriodicExportingMetricReader(exporter, export_interval_millis=float("inf"))
        provider = MeterProvider([reader], shutdown_on_exit=False)
        with RunMetrics(run, provider=provider):
            for _ in range(50):
                began = time.perf_counter()
                provider.force_flush()
                yield time.perf_counter() - began
        provider.shutdown()


def _spread(values: list[float]) -> dict[str, float]:
    if len(values) < 2:
        return {"count": len(values), "most": max(values, default=0.0)}
    return {
        "count": len(values),
        "median": median(values),
        "p95": quantiles(values, n=20, method="inclusive")[-1],
        "most": max(values),
    }


def main() -> int:
    """Measure what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkpoint", type=Path, nargs="?", help="of a run of one clock; it is not changed")
    parser.add_argument("--queries", type=int, help="make a checkpoint of so many queries instead")
    parser.add_argument("--metrics", type=int, metavar="QUERIES", help="measure the metrics of so many queries instead")
    parser.add_argument("--minutes", type=int, default=5)
    parser.add_argument("--browser", default=shutil.which("chromium"), help="the program [default: chromium]")
    given = parser.parse_args()
    if given.metrics is not None:
        print(json.dumps(metrics_figures(given.metrics)))  # noqa: T201
        return 0
    if (given.checkpoint is None) is (given.queries is None):
        parser.error("give either a checkpoint or --queries")
    with tempfile.TemporaryDirectory(prefix="page-figures-") as name:
        folder = Path(name)
        if given.checkpoint is None:
            finish = partial(finish_of_many, Recorded(folder / "checkpoint", given.queries))
        else:
            finish = replay_of(given.checkpoint, folder / "checkpoint")
        micro_batches = MicroBatchEachSecond(finish)
        try:
            with (
                served(folder / "checkpoint") as (url, server),
                opened(url, given.browser) as (page, query),
                left_open(f"{url}?query={query}", given.browser, folder / "profile") as browser,
            ):
                figures = measured(page, server, browser, micro_batches, given.minutes)
        finally:
            micro_batches.close()
    print(json.dumps(figures))  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())
