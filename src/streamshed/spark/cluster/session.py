"""Spark sessions: one of our own for the command line, and what a session must have for a network to run.

Rests on Spark's internals: tests/spark/contracts/test_state_files.py.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping

from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

from streamshed.errors import ClusterUnavailableError, InvalidNetworkError, JavaUnavailableError
from streamshed.network.source.sources import NO_CONNECT
from streamshed.network.words.given import is_of_connect
from streamshed.network.words.passwords import is_secret
from streamshed.spark.checkpoint.checkpoint_reader import checkpoint_format, last_begun, settings_of_micro_batch
from streamshed.spark.checkpoint.source_logs import COMPACT_INTERVAL
from streamshed.spark.checkpoint.storage import Storage
from streamshed.spark.cluster.cluster_master import require_master
from streamshed.spark.common.failures import innermost_cause, is_failure_of_spark

OLDEST_JAVA = 17

_STATE = "spark.sql.streaming.stateStore."
CHECKPOINT_FORMAT = f"{_STATE}checkpointFormatVersion"
"""How a checkpoint tells which files hold its state: 2 by an id of each, 1 by the number of the micro-batch."""

MEMORY_LIMIT = f"{_STATE}rocksdb.maxMemoryUsageMB"
"""What all state of a process may take of memory outside of Java."""

_ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"

QUERY_SETTINGS: Mapping[str, str] = {
    f"{_STATE}providerClass": _ROCKSDB,
    f"{_STATE}rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.streaming.multipleWatermarkPolicy": "min",
    "spark.sql.objectHashAggregate.sortBased.fallbackThreshold": "1000000",
    "spark.sql.codegen.hugeMethodLimit": "8000",
    "spark.sql.adaptive.enabled": "false",
    # Spark would follow what holds for each column through all that is computed, to find filters of no effect.
    "spark.sql.constraintPropagation.enabled": "false",
    "spark.sql.execution.arrow.transformWithStateInPandas.maxRecordsPerBatch": "100000",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.streaming.fileSource.log.compactInterval": str(COMPACT_INTERVAL),
}
"""What a network's streaming query runs with; Spark copies a session's settings when a query starts."""

SAFETY_SETTINGS: Mapping[str, str] = {
    # A micro-batch that runs again writes files of its own: it never reads what its last run left.
    CHECKPOINT_FORMAT: "2",
    f"{_STATE}rowChecksum.enabled": "true",
    f"{_STATE}rocksdb.boundedMemoryUsage": "true",
    MEMORY_LIMIT: "500",
}
"""What Spark leaves off and a network's query runs with, unless the session has a value of its own."""

FILE_MANAGER = "spark.sql.streaming.checkpointFileManagerClass"
"""What writes the files of checkpoints."""

FILE_CHECKSUMS = "spark.sql.streaming.checkpoint.fileChecksum.enabled"
"""Whether Spark writes a file of checksums beside each of them."""

LOCAL_CHECKPOINT_SETTINGS: Mapping[str, str] = {
    FILE_MANAGER: "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager",
    FILE_CHECKSUMS: "false",
}
"""What is added where the checkpoint is on a local disk, whose renames are atomic.

Spark's choice would be the other manager, which starts ten processes (readlink, chmod) for every file of a checkpoint:
75 in a micro-batch of two stages, a fifth of a second. Spark's checksums would be a second file beside each, where
Hadoop writes and checks one already: it takes two processes more for every file of state.
"""


LOCAL_FILES_SETTINGS: Mapping[str, str] = {"spark.sql.sources.parallelPartitionDiscovery.threshold": "100000"}
"""What is added where all files that are read are on a local disk.

From 33 files in a micro-batch on, Spark would look at them in a job of a task for each: 0.2 s for 80.
"""


def require_java() -> None:
    """Check that there is a Java that Spark can run on.

    Raises:
        JavaUnavailableError: There is none, it cannot be run, or it is too old.
    """
    home = os.environ.get("JAVA_HOME")
    command = os.path.join(home, "bin", "java") if home else shutil.which("java")
    advice = f"Spark needs Java {OLDEST_JAVA} or newer: install openjdk-{OLDEST_JAVA}-jre-headless, or set JAVA_HOME"
    if command is None or not os.path.exists(command):
        raise JavaUnavailableError(f"no Java found{f' in JAVA_HOME={home}' if home else ''}. {advice}")
    try:
        version_text = subprocess.run([command, "-version"], capture_output=True, text=True, check=False).stderr
    except OSError as error:
        raise JavaUnavailableError(f"{command} cannot be run: {error.strerror} (is it a program?). {advice}") from error
    version_match = re.search(r'version "(?:1\.)?(\d+)', version_text)
    if version_match is None or int(version_match.group(1)) < OLDEST_JAVA:
        version = version_match.group(1) if version_match else "unknown"
        raise JavaUnavailableError(f"{command} is Java {version}, which is too old. {advice}")


_IS_LINUX = sys.platform == "linux"

_JAVA_OPTIONS = " ".join(
    [
        # Java would begin to collect its memory again and again while it loads Spark's classes.
        "-XX:MetaspaceSize=300m",
        # Files on a local disk are made by Hadoop, which runs `chmod` for each: some 15 in a micro-batch. Java starts a
        # program in 2 ms in this way, else in 3; it has this way on Linux alone, and fails elsewhere.
        *(["-Djdk.lang.Process.launchMechanism=VFORK"] if _IS_LINUX else []),
    ]
)

START_SETTINGS: Mapping[str, str] = {
    # Over TCP, Python's workers and Java wait 40 ms for each other's acknowledgements, task by task.
    "spark.python.unix.domain.socket.enabled": "true",
    # A micro-batch of a join has about a hundred generated classes. Spark would keep a hundred, and compile nearly all
    # of them again in each micro-batch.
    "spark.sql.codegen.cache.maxEntries": "1000",
    # For a user interface that there is not, Spark would keep the plans of a thousand micro-batches in memory.
    "spark.sql.ui.retainedExecutions": "20",
    # Each aggregation and each sort of a task takes a page of memory, or more: of 4 GiB of heap Spark would make it
    # 64 MiB, for a few rows. Zeroing it and collecting it took a tenth of a micro-batch, and 1.5 GiB were in use.
    "spark.buffer.pageSize": "1m",
    "spark.driver.defaultJavaOptions": _JAVA_OPTIONS,
}
"""What a session can be given only at its start."""

LOCAL_SETTINGS: Mapping[str, str] = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    # Else each Python worker imports pandas and streamshed by itself. A cluster's workers may get streamshed later.
    "spark.python.daemon.module": "streamshed.spark.cluster.worker_daemon",
}
"""What a session in this process can be given beside `START_SETTINGS`."""

_REMOTE = ("SPARK_REMOTE", "SPARK_CONNECT_MODE_ENABLED")
"""Variables by which PySpark makes sessions of Spark Connect."""

_ON_CLUSTER = {
    # Else tasks wait three seconds each for the worker that has their state, while one that has just come is idle.
    "spark.locality.wait": "0s",
}


def require_classic(thing: object, label: str = "the session") -> None:
    """Check that a session, or a DataFrame, is not one of Spark Connect, which has no way to Spark's Java.

    Args:
        thing: The session, or the DataFrame.
        label: What it is called in the message.

    Raises:
        InvalidNetworkError: It is.
    """
    if is_of_connect(thing):
        raise InvalidNetworkError(NO_CONNECT.format(label))


def local_session(
    app_name: str = "streamshed",
    *,
    cores: int | None = None,
    memory: str = "4g",
    master: str | None = None,
    options: Mapping[str, str] | None = None,
) -> SparkSession:
    """Return a Spark session in this process, or with its executors on a cluster.

    Args:
        app_name: Shown by Spark.
        cores: Threads for tasks in this process; None: one per core.
        memory: Of the driver, such as "4g".
        master: A cluster, such as "spark://host:7077"; None: this process.
        options: More settings of Spark.

    Raises:
        JavaUnavailableError: No Java, or one that is too old.
        InvalidNetworkError: Spark knows no such master, or makes sessions of Spark Connect here.
        ClusterUnavailableError: The cluster's master cannot be reached, or does not take the application.
    """
    if remote := next((name for name in _REMOTE if os.environ.get(name)), None):
        raise InvalidNetworkError(f"the variable {remote} is set, by which sessions are of Spark Connect: unset it")
    require_java()
    if master is not None:
        require_master(master)
    builder = SparkSession.builder.master(master or f"local[{cores or '*'}]").appName(app_name)
    settings = {
        "spark.driver.memory": memory,
        **(LOCAL_SETTINGS if master is None else _ON_CLUSTER),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.api.mode": "classic",
        "spark.sql.shuffle.partitions": str(cores or os.cpu_count() or 2),
        "spark.pyspark.python": sys.executable,
        "spark.pyspark.driver.python": sys.executable,
        **START_SETTINGS,
        **(options or {}),
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    _begin_java(settings)
    session = _created(builder, master)
    session.sparkContext.setLogLevel("ERROR")
    use_this_python(session)
    return session


def _begin_java(settings: Mapping[str, str]) -> None:
    """Start Java without settings that are secrets, for all who use this machine see its command line.

    The session hands them over later. Without secrets, or where Java runs, nothing is done.
    """
    shown = {name: value for name, value in settings.items() if not is_secret(name)}
    if len(shown) < len(settings):
        SparkContext._ensure_initialized(conf=SparkConf(loadDefaults=False).setAll(list(shown.items())))  # noqa: SLF001 - PySpark has no other way


def _created(builder: SparkSession.Builder, master: str | None) -> SparkSession:
    try:
        session: SparkSession = builder.getOrCreate()
    except Exception as error:
        if master is None or master.startswith("local") or not is_failure_of_spark(error):
            raise
        raise ClusterUnavailableError(
            f'the cluster "{master}" does not take the application: {innermost_cause(error)} (is it a master of the'
            " same release of Spark, and can it reach this machine, spark.driver.host?)"
        ) from error
    return session


def use_this_python(session: SparkSession) -> None:
    """Let a local session's Python workers be of this interpreter, which has streamshed; a cluster's are its own."""
    if (session.sparkContext.master or "").startswith("local") and "PYSPARK_PYTHON" not in os.environ:
        session.sparkContext.pythonExec = sys.executable


_UTC = frozenset({"utc", "etc/utc", "gmt", "etc/gmt", "z", "zulu", "uct", "+00:00", "universal"})


_REQUIRED: Mapping[str, tuple[tuple[str, ...], str]] = {
    "spark.sql.timestampType": (("TIMESTAMP_LTZ",), "a timestamp in a schema or in SQL would be a time without a zone"),
    "spark.sql.caseSensitive": (("false",), "columns would not be those that names in another case mean"),
    "spark.sql.files.ignoreMissingFiles": (("false",), "rows of files that vanish would be lost without a word"),
    "spark.sql.files.ignoreCorruptFiles": (("false",), "rows of damaged files would be lost without a word"),
    "spark.sql.legacy.timeParserPolicy": (
        ("CORRECTED", "EXCEPTION"),
        "times in texts would be read by the rules of Spark 2, which know no fractions of a second",
    ),
}
"""Settings under which answers would be others: what they may be, and what would happen else."""


def require_settings(session: SparkSession) -> None:
    """Check that a session has no settings under which answers would be wrong.

    It tells times in UTC, as answers are in UTC and times without zone are taken for it.

    Raises:
        InvalidNetworkError: It has, listing all.
    """
    zone = session.conf.get("spark.sql.session.timeZone") or ""
    problems = [
        f"the session's {name} is {value}: set it to {allowed[0]}, in a session beside it (newSession) if need be"
        f" ({otherwise})"
        for name, (allowed, otherwise) in _REQUIRED.items()
        if (value := str(session.conf.get(name))).lower() not in map(str.lower, allowed)
    ]
    if zone.lower() not in _UTC:
        problems.append(
            f'the session\'s time zone is "{zone}": set spark.sql.session.timeZone to UTC (answers are in UTC, and SQL'
            " would read times without a zone in another one)"
        )
    if problems:
        raise InvalidNetworkError(*problems)


def state_settings(session: SparkSession) -> dict[str, str]:
    """Return how a query keeps state that is started now: provider, formats and limits, by Spark's names.

    Args:
        session: The session, within `settings_for_queries`.
    """
    names = [name for name in (*QUERY_SETTINGS, *SAFETY_SETTINGS) if name.startswith(_STATE)]
    return {name.removeprefix(_STATE): str(session.conf.get(name)) for name in names}


@contextlib.contextmanager
def settings_for_queries(session: SparkSession, partitions: int, checkpoint: Storage) -> Iterator[None]:
    """Set what a network's query is to run with, and put the session's own settings back.

    A checkpoint goes on as it began: with its format, and with what Spark wrote down beside its offsets.

    Args:
        session: The session.
        partitions: State partitions of each stateful stage; a checkpoint keeps those it began with.
        checkpoint: Spark's, of the query.
    """
    begun = last_begun(checkpoint)
    fixed = {} if begun is None else settings_of_micro_batch(checkpoint, begun)
    wanted = {name: value for name, value in SAFETY_SETTINGS.items() if session.conf.get(name, None) is None}
    wanted |= QUERY_SETTINGS
    wanted |= {name: value for name, value in fixed.items() if name.startswith(_STATE)}
    wanted["spark.sql.shuffle.partitions"] = str(partitions)
    if begun_in := checkpoint_format(checkpoint):
        wanted[CHECKPOINT_FORMAT] = begun_in
    if checkpoint.is_local:
        wanted |= LOCAL_CHECKPOINT_SETTINGS
    with _with_settings(session, wanted):
        yield


@contextlib.contextmanager
def settings_for_files(session: SparkSession, paths: Iterable[str]) -> Iterator[None]:
    """Set what files on a local disk are read with while a network runs, and put the session's own settings back.

    Spark looks at the files of a micro-batch with the settings that the session of a source has then.

    Args:
        session: The session.
        paths: The folders that are read.
    """
    are_local = not any("://" in path for path in paths)
    wanted = {name: value for name, value in LOCAL_FILES_SETTINGS.items() if session.conf.get(name, None) is None}
    with _with_settings(session, wanted if are_local else {}):
        yield


@contextlib.contextmanager
def _with_settings(session: SparkSession, wanted: Mapping[str, str]) -> Iterator[None]:
    before = {name: session.conf.get(name, None) for name in wanted}
    for name, value in wanted.items():
        session.conf.set(name, value)
    try:
        yield
    finally:
        for name, setting in before.items():
            if setting is None:
                session.conf.unset(name)
            else:
                session.conf.set(name, setting)
