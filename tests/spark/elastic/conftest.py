"""One course, on one cluster, for all tests here."""

from __future__ import annotations

import pytest

from streamshed.spark.cluster.standalone_cluster import standalone_cluster
from tests.spark.elastic.course import Course, taken
from tests.spark.sessions import QUICK_JAVA
from tests.thoroughness import chosen


@pytest.fixture(scope="session", params=chosen(["told", "measured"], "told"))
def course(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Course:
    """What became of the runs; by the clock only in a thorough run, which takes minutes."""
    path = tmp_path_factory.mktemp("elastic")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPARK_DAEMON_JAVA_OPTS", QUICK_JAVA)
        with standalone_cluster(path / "cluster") as cluster:
            return taken(path, cluster, request.param)
