import copy
import inspect
import pickle
from dataclasses import dataclass

import pytest

from streamshed import errors
from streamshed.errors import (
    InvalidDocumentError,
    InvalidExpressionError,
    InvalidNetworkError,
    MissingExtraError,
    StreamshedError,
    UnsheddableQueryError,
    closest_name,
    near_miss,
)


@dataclass(frozen=True)
class Problem:
    path: str
    value: object
    message: str
    near_miss: str | None = None


SLIDE = Problem("queries.a.window.slide", "10 minutes", "longer than the size of 5 minutes")
STREAM = Problem("queries.b.from", "pakets", "unknown stream", "packets")


def test_every_error_has_the_one_base() -> None:
    classes = [member for _, member in inspect.getmembers(errors, inspect.isclass)]
    raised = [member for member in classes if issubclass(member, BaseException)]
    assert StreamshedError in raised
    assert len(raised) > 1
    assert all(issubclass(member, StreamshedError) for member in raised)


@pytest.mark.parametrize(
    "error", [InvalidNetworkError, InvalidExpressionError, InvalidDocumentError, UnsheddableQueryError]
)
def test_wrong_values_are_value_errors(error: type[StreamshedError]) -> None:
    assert issubclass(error, ValueError)


def test_a_missing_extra_is_an_import_error() -> None:
    assert issubclass(MissingExtraError, ImportError)


def test_one_problem_stands_alone() -> None:
    assert str(InvalidNetworkError("a network needs a query")) == "a network needs a query"


def test_several_problems_are_listed() -> None:
    error = InvalidNetworkError("first", "second")
    assert error.problems == ("first", "second")
    assert str(error) == "2 problems:\n  first\n  second"


def test_a_document_reports_path_value_and_near_miss() -> None:
    error = InvalidDocumentError([SLIDE, STREAM])
    assert error.problems == (SLIDE, STREAM)
    assert str(error).splitlines() == [
        "2 problems:",
        "  queries.a.window.slide: longer than the size of 5 minutes, got '10 minutes'",
        "  queries.b.from: unknown stream, got 'pakets' (did you mean \"packets\"?)",
    ]


@pytest.mark.parametrize("error", [InvalidNetworkError("a", "b"), InvalidDocumentError([SLIDE, STREAM])])
def test_errors_survive_the_way_between_processes(error: StreamshedError) -> None:
    for copied in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(copied) is type(error)
        assert str(copied) == str(error)


@pytest.mark.parametrize(
    ("name", "expected"),
    [("dest_prot", "dest_port"), ("SIZE", "size"), ("sizes", "size"), ("bandwidth", None), ("", None)],
)
def test_closest_name(name: str, expected: str | None) -> None:
    assert closest_name(name, {"src_port", "dest_port", "size"}) == expected


def test_no_candidates_no_near_miss() -> None:
    assert near_miss("size", []) == ""


def test_the_near_miss_does_not_depend_on_the_order_of_candidates() -> None:
    candidates = ["port_a", "port_b", "port_c"]
    assert near_miss("port_", candidates) == near_miss("port_", reversed(candidates))
