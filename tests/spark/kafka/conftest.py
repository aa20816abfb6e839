from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.spark.kafka.broker import running_broker


@pytest.fixture(scope="session")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_broker(tmp_path_factory.mktemp("broker")) as address:
        yield address
