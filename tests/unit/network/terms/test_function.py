import functools
import json
import math
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from streamshed.errors import InvalidNetworkError
from streamshed.network.terms.function import FunctionReference, function_reference
from streamshed.network.terms.function_state import state_digest

ROOT = Path(__file__).parents[4]
DIGEST_ELSEWHERE = """
from tests.unit.network.terms.test_function import local
from streamshed.network.terms.function import function_reference
print(function_reference(local([3, {'x', 'y', 'z'}])).definition)
"""


def plus_one(values: float) -> float:
    return values + 1


class Model:
    def __init__(self, factor: float) -> None:
        self.factor = factor

    def score(self, values: float) -> float:
        return values * self.factor

    __call__ = score


def local(added: object) -> Callable[[object], object]:
    def score(values: object, scale: float = 2.0) -> object:
        return (values, added, scale, {"a", "b"}, lambda: 3)

    return score


def test_a_function_is_its_name() -> None:
    reference = function_reference(plus_one)
    assert reference == function_reference(f"{__name__}:plus_one")
    assert hash(reference) == hash(function_reference(f"{__name__}:plus_one"))
    assert reference.definition == f"{__name__}:plus_one"


def test_a_name_leads_to_the_function() -> None:
    assert function_reference("math:sqrt").resolve() is math.sqrt
    assert function_reference("json.decoder:JSONDecoder.decode").resolve() is json.JSONDecoder.decode


def test_a_function_at_hand_is_not_looked_up() -> None:
    score = local(1)
    assert function_reference(score).resolve() is score


def test_local_functions_are_equal_when_their_code_and_what_they_captured_is() -> None:
    assert function_reference(local(1)) == function_reference(local(1))
    assert function_reference(local((1, "x", None))) == function_reference(local((1, "x", None)))
    assert function_reference(local(1)) != function_reference(local(2))
    assert function_reference(local(1)) != function_reference(local(1.0))
    assert function_reference(lambda x: x) != function_reference(lambda x: (x,))


def wrap(function: Callable[..., object]) -> Callable[..., object]:
    return lambda values: [function(value) for value in (values,)]


def recursive(limit: int) -> Callable[[int], int]:
    def down(value: int) -> int:
        return value if value < limit else down(value - 1)

    return down


@pytest.mark.parametrize(
    ("one", "same", "other"),
    [
        (local([1]), local([1]), local([2])),
        (local({"a": 1}), local({"a": 1}), local({"a": 2})),
        (local({"a", "b"}), local({"b", "a"}), local({"a"})),
        (local(np.array([1])), local(np.array([1])), local(np.array([2]))),
        (local(local(1)), local(local(1)), local(local(2))),
        (wrap(abs), wrap(abs), wrap(len)),
        (functools.partial(max, 2), functools.partial(max, 2), functools.partial(max, 3)),
        (functools.partial(max, key=abs), functools.partial(max, key=abs), functools.partial(max, key=len)),
        (Model(2).score, Model(2).score, Model(3).score),
        (Model(2), Model(2), Model(3)),
        (recursive(1), recursive(1), recursive(2)),
        (wrap(recursive(1)), wrap(recursive(1)), wrap(recursive(2))),
    ],
    ids=lambda function: getattr(function, "__qualname__", type(function).__name__),
)
def test_functions_are_equal_when_all_that_they_hold_is(
    one: Callable[..., object], same: Callable[..., object], other: Callable[..., object]
) -> None:
    assert function_reference(one) == function_reference(same)
    assert function_reference(one).definition == function_reference(same).definition
    assert function_reference(one) != function_reference(other)
    assert function_reference(one).definition != function_reference(other).definition


def test_what_cannot_be_compared_after_a_restart_is_refused() -> None:
    with pytest.raises(InvalidNetworkError, match=r"holds <unlocked .*lock.*>, which cannot be compared"):
        function_reference(local(threading.Lock()))


def test_the_definition_is_the_same_in_every_process() -> None:
    command = [sys.executable, "-c", DIGEST_ELSEWHERE]
    environment = {"PYTHONHASHSEED": "7", "PYTHONPATH": f"{ROOT}:{ROOT / 'src'}"}
    elsewhere = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=True)
    assert elsewhere.stdout.strip() == function_reference(local([3, {"x", "y", "z"}])).definition


@pytest.mark.parametrize(
    ("function", "problem"),
    [("score", 'a function is named "module:function"'), (3, "apply needs a function"), (":f", "is named")],
)
def test_what_is_no_function_is_refused(function: str, problem: str) -> None:
    with pytest.raises(InvalidNetworkError, match=problem):
        function_reference(function)


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("no_such_module:f", 'cannot import the function "no_such_module:f"'),
        ("math:sqrtt", 'there is no "sqrtt" .* \\(did you mean "sqrt"\\?\\)'),
        ("math:pi", '"math:pi" is no function but float'),
    ],
)
def test_names_that_lead_nowhere_are_told_when_they_are_followed(name: str, problem: str) -> None:
    with pytest.raises(InvalidNetworkError, match=problem):
        FunctionReference(name).resolve()


def _local_class(threshold: int, doc: str = "") -> type:
    class Above:
        __doc__ = doc
        factor = 2

        def __init__(self, start: int = 0) -> None:
            super().__init__()
            self.start = start

        @staticmethod
        def limit() -> int:
            return threshold

        @classmethod
        def doubled(cls) -> int:
            return cls.factor * 2

        @property
        def begins(self) -> int:
            return self.start

    return Above


def test_a_class_without_an_importable_name_is_told_by_what_it_does() -> None:
    assert state_digest(_local_class(3)) == state_digest(_local_class(3, doc="The same, explained."))
    assert state_digest(_local_class(3)) != state_digest(_local_class(4))
    changed = _local_class(3)
    changed.factor = 3  # type: ignore[attr-defined]
    assert state_digest(changed) != state_digest(_local_class(3))
