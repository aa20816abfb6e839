import pytest
from hypothesis import settings

from tests.thoroughness import USUAL, is_thorough

settings.register_profile("chosen", USUAL)
settings.load_profile("chosen")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if is_thorough():
        return
    left_out = [item for item in items if item.get_closest_marker("thorough") is not None]
    items[:] = [item for item in items if item not in left_out]
    config.hook.pytest_deselected(items=left_out)
