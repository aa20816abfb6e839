from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.spark.kafka.broker import Broker, running_broker


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    with running_broker(tmp_path_factory.mktemp("broker")) as broker:
        yield broker


@pytest.fixture(scope="session")
def servers(broker: Broker) -> str:
    return broker.servers
