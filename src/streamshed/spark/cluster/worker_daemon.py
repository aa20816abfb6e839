"""The process that Spark forks its Python workers from, which has imported what all of them need.

Spark's daemon imports little, so each worker imports pandas and streamshed by itself: most of a second each, in the
first micro-batch, when ten workers begin at once, and 100 MB. Forked from here, they have it.

    python -m streamshed.spark.cluster.worker_daemon pyspark.worker

is what Spark calls, by `spark.python.daemon.module`.

Rests on Spark's internals: tests/spark/contracts/test_worker_daemon.py.
"""

from __future__ import annotations

import gc
from importlib import import_module

from pyspark.daemon import manager

IMPORTED = (
    "pandas",
    "pyarrow.compute",
    "pyspark.sql.pandas.serializers",
    "pyspark.sql.streaming.stateful_processor_util",
    "pyspark.worker",
    "streamshed.spark.domain_frame",
)
"""What workers need, with all that it imports."""


def run() -> None:
    """Serve as Spark's own daemon does."""
    for module in IMPORTED:
        import_module(module)
    gc.freeze()  # so that a collection in a worker does not copy what it shares with the others
    manager()


if __name__ == "__main__":
    run()
