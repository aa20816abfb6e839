import gc
import os
import subprocess
import sys
import weakref
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pyarrow as pa
import pytest

import streamshed
from streamshed.spark.common import worker_heap
from streamshed.spark.common.worker_heap import freeze_modules

SOURCES = Path(streamshed.__file__).parent


class Ring:
    """Garbage that only a search finds."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture(autouse=True)
def thawed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(worker_heap, "_modules_frozen", 0)
    yield
    gc.unfreeze()


def test_what_is_loaded_is_not_searched_again() -> None:
    searched = len(gc.get_objects())
    freeze_modules()
    assert len(gc.get_objects()) < searched / 10
    assert gc.get_freeze_count() > searched / 2


def test_garbage_is_not_frozen() -> None:
    before = Ring()
    garbage = [weakref.ref(before)]
    del before
    freeze_modules()
    later = Ring()
    garbage.append(weakref.ref(later))
    del later
    freeze_modules()
    gc.collect()
    assert [ring() for ring in garbage] == [None, None]


def test_only_new_modules_are_a_reason_to_freeze(monkeypatch: pytest.MonkeyPatch) -> None:
    freeze_modules()
    frozen = gc.get_freeze_count()
    held = [Ring() for _ in range(1000)]
    freeze_modules()
    assert gc.get_freeze_count() <= frozen
    monkeypatch.setitem(sys.modules, "a_module_more", ModuleType("a_module_more"))
    freeze_modules()
    assert gc.get_freeze_count() > frozen + len(held)


def test_all_rows_go_to_python_in_this_way() -> None:
    direct = [file for file in SOURCES.rglob("*.py") if ".mapInArrow(" in file.read_text()]
    assert [file.relative_to(SOURCES).as_posix() for file in direct] == ["spark/common/in_arrow.py"]


@pytest.mark.parametrize("said", [None, *pa.supported_memory_backends()])
def test_arrow_takes_memory_from_the_library_unless_somebody_says_otherwise(said: str | None) -> None:
    program = (
        "import pyarrow as pa; from streamshed.spark.common.worker_heap import allocate_as_usual;"
        " allocate_as_usual(); print(pa.default_memory_pool().backend_name)"
    )
    variables = {name: value for name, value in os.environ.items() if name != "ARROW_DEFAULT_MEMORY_POOL"}
    variables |= {} if said is None else {"ARROW_DEFAULT_MEMORY_POOL": said}
    ended = subprocess.run([sys.executable, "-c", program], env=variables, capture_output=True, text=True, check=True)
    assert ended.stdout.split() == [said or "system"]
