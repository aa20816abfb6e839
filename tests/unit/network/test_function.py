import json
import math
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from streamshed.errors import InvalidNetworkError
from streamshed.network.function import FunctionReference, function_reference

ROOT = Path(__file__).parents[3]
DIGEST_ELSEWHERE = """
from tests.unit.network.test_function import local
from streamshed.network.function import function_reference
print(function_reference(local(3)).definition)
"""


def plus_one(values: float) -> float:
    return values + 1


class Model:
    def score(self, values: float) -> float:
        return values


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


def test_objects_that_were_captured_are_compared_by_identity() -> None:
    one, other = [1], [1]
    assert function_reference(local(one)) == function_reference(local(one))
    assert function_reference(local(one)) != function_reference(local(other))
    assert function_reference(local(one)).definition == function_reference(local(other)).definition


def test_bound_methods_are_compared_by_identity() -> None:
    score = Model().score
    assert function_reference(score) == function_reference(score)
    assert function_reference(score) != function_reference(Model().score)


def test_the_definition_is_the_same_in_every_process() -> None:
    command = [sys.executable, "-c", DIGEST_ELSEWHERE]
    environment = {"PYTHONHASHSEED": "7", "PYTHONPATH": f"{ROOT}:{ROOT / 'src'}"}
    elsewhere = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=True)
    assert elsewhere.stdout.strip() == function_reference(local(3)).definition


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
