"""What Python workers need is imported before they are forked."""

import sys

import pytest

from streamshed.spark.cluster import worker_daemon
from streamshed.spark.cluster.session import LOCAL_SETTINGS


def test_all_is_there_when_it_begins_to_serve(monkeypatch: pytest.MonkeyPatch) -> None:
    served = []
    monkeypatch.setattr("streamshed.spark.cluster.worker_daemon.gc.freeze", lambda: None)
    monkeypatch.setattr(worker_daemon, "manager", lambda: served.append(set(worker_daemon.IMPORTED) - set(sys.modules)))
    worker_daemon.run()
    assert served == [set()]


def test_it_is_the_module_that_sessions_name() -> None:
    assert LOCAL_SETTINGS["spark.python.daemon.module"] == worker_daemon.__name__
