"""Examples as they are run, but for the session of Spark, which is that of the tests."""

from __future__ import annotations

import io
import runpy
import sys
from contextlib import nullcontext, redirect_stdout
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

EXAMPLES = Path(__file__).parents[2] / "examples"


def printed_by(example: str, spark: SparkSession, *arguments: str) -> str:
    """Run a script of the examples, and return what it prints.

    Args:
        example: The name of its file.
        spark: What it is given where it asks for a session, and does not end.
        arguments: Of its command line.
    """
    script, output = str(EXAMPLES / example), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(output):
        patch.setattr("streamshed.spark.local_session", lambda _name: nullcontext(spark.newSession()))
        patch.setattr(sys, "argv", [script, *arguments])
        runpy.run_path(script, run_name="__main__")
    return output.getvalue()
