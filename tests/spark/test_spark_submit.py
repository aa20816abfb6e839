"""A program with a network of its own, submitted by PySpark's `spark-submit` as documents say."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow.dataset as ds

from tests.spark.sessions import QUICK_JAVA
from tests.thoroughness import thorough

_SOURCES = Path(__file__).parents[2] / "src"
_PROGRAM = """
import sys

from pyspark.sql import SparkSession

import streamshed as ss
from streamshed.spark import parquet_sink

spark = SparkSession.builder.getOrCreate()
folder = sys.argv[1]
source = ss.folder(f"{folder}/in", format="json", schema="ts timestamp, size int")
packets = ss.stream("packets", source, time="ts")
network = ss.network(packets.window("10 seconds").agg(bytes="sum(size)").query("bytes"))
with network.start(spark, checkpoint=f"{folder}/checkpoint", sink=parquet_sink(f"{folder}/out")) as run:
    drained = run.drain(300)
sys.exit(0 if drained else "not drained")
"""


@thorough
def test_a_submitted_program_runs_a_network(tmp_path: Path) -> None:
    rows = [{"ts": f"2026-01-01T00:00:{second:02}Z", "size": 7} for second in range(60)]
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "packets.json").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "program.py").write_text(_PROGRAM)
    done = _submitted(tmp_path / "program.py", str(tmp_path))
    assert done.returncode == 0, done.stderr[-3000:]
    answers = ds.dataset(sorted(map(str, (tmp_path / "out").rglob("*.parquet")))).to_table().to_pylist()
    assert len(answers) >= 5
    assert {(row["value"], row["exact"]) for row in answers} == {(70.0, True)}


def _submitted(program: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Submit a program by the script that came with PySpark, in this environment."""
    scripts = Path(sys.executable).parent
    settings = {"spark.ui.enabled": "false", "spark.sql.session.timeZone": "UTC"}
    options = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    command = [str(scripts / "spark-submit"), "--master", "local[2]", "--driver-memory", "1g", *options]
    environment = os.environ | {
        # The script looks for the Python that has PySpark as a shell does.
        "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join([str(_SOURCES), os.environ.get("PYTHONPATH", "")]),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_SUBMIT_OPTS": QUICK_JAVA,
    }
    command += [str(program), *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
