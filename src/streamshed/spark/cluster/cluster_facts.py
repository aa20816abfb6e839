"""What can be told of a cluster that gives no executors: asked when something is wrong, and never for long.

A standalone cluster's master is asked what its web page shows, by a message of Spark's own; whatever it does not tell
is left out.

Rests on Spark's internals: tests/spark/elastic/test_nothing_to_run_on.py.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

from streamshed.errors import InvalidNetworkError
from streamshed.spark.cluster.cluster_master import is_standalone, master_addresses, master_refusals
from streamshed.spark.cluster.executors import CALL_SECONDS, loss_reasons
from streamshed.spark.cluster.missing_executors import ClusterFacts, Size
from streamshed.spark.common.timely import Timely

_MESSAGES = "org.apache.spark.deploy.DeployMessages$"
_MEBIBYTE = 2**20


def cluster_facts(spark: SparkSession) -> ClusterFacts:
    """Gather the facts that explain why no executor comes; takes seconds at most."""
    context = spark.sparkContext
    master, settings = context.master or "", context.getConf()
    cores = int(settings.get("spark.executor.cores", "1") or 1)
    memory = context._jsc.sc().executorMemory() * _MEBIBYTE  # noqa: SLF001 - PySpark's own context does not tell
    refusals: tuple[str, ...] = ()
    master_state: tuple[tuple[Size, ...], int] | None = None
    try:
        refusals = master_refusals(master) if is_standalone(master) else ()
    except InvalidNetworkError as error:
        refusals = error.problems
    if is_standalone(master) and not refusals:
        master_state = Timely(CALL_SECONDS).call(lambda: _state_of_master(spark, master), None)
    return ClusterFacts(
        master=master,
        executor=Size(memory, cores),
        driver=f"{settings.get('spark.driver.host')}:{settings.get('spark.driver.port')}",
        refusals=refusals,
        workers=None if master_state is None else master_state[0],
        other_applications=0 if master_state is None else master_state[1],
        lost=Timely(CALL_SECONDS).call(lambda: tuple(loss_reasons(spark).values()), ()),
    )


def _state_of_master(spark: SparkSession, master: str) -> tuple[tuple[Size, ...], int] | None:
    """The workers that the master knows, and how many other applications; None: no master leads."""
    for host, port in master_addresses(master):
        state = _master_reply(spark, host, port)
        if state.status().toString() == "ALIVE":
            application_id = spark.sparkContext.applicationId
            others = [one for one in state.activeApps() if one.id() != application_id]
            return tuple(Size(one.memory() * _MEBIBYTE, one.cores()) for one in state.workers()), len(others)
    return None


def _master_reply(spark: SparkSession, host: str, port: int) -> Any:
    java: Any = spark.sparkContext._jvm  # noqa: SLF001 - PySpark has none of these calls
    classes, handles, named = java.java.lang.Class, java.java.lang.invoke, java.java.util.ArrayList()
    # Py4J lists all methods of a class to call one. A method of SparkEnv takes a class of Protobuf, which PySpark does
    # not bring, so the method that is needed is looked up by itself.
    method_handle = handles.MethodHandles.publicLookup().findVirtual(
        classes.forName("org.apache.spark.SparkEnv"),
        "rpcEnv",
        handles.MethodType.methodType(classes.forName("org.apache.spark.rpc.RpcEnv")),
    )
    named.append(spark.sparkContext._jsc.sc().env())  # noqa: SLF001 - nor this one
    rpc_environment = method_handle.invokeWithArguments(named)
    endpoint = rpc_environment.setupEndpointRef(java.org.apache.spark.rpc.RpcAddress(host, port), "Master")
    kind = classes.forName(f"{_MESSAGES}MasterStateResponse")
    answer = getattr(getattr(java, "scala.reflect.ClassTag$"), "MODULE$").apply(kind)
    return endpoint.askSync(getattr(getattr(java, f"{_MESSAGES}RequestMasterState$"), "MODULE$"), answer)
