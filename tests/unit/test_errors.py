import copy
import inspect
import pickle

import pytest

from streamshed import errors
from streamshed.errors import (
    DocumentProblem,
    InvalidDocumentError,
    InvalidExpressionError,
    InvalidNetworkError,
    MissingExtraError,
    Problem,
    StreamshedError,
    UnsheddableQueryError,
    closest_name,
    near_miss,
)

SLIDE = DocumentProblem("queries.a.window.slide", "10 minutes", "longer than the size of 5 minutes")
STREAM = DocumentProblem("queries.b.from", "pakets", "unknown stream", "packets")


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


NAMED = Problem("unknown column", "parse.schema", got="'sise'", near_miss="size", subject="stream s", source="sise + 1")


def test_a_problem_is_a_sentence_and_its_parts() -> None:
    assert NAMED == 'stream s: unknown column, got \'sise\' (did you mean "size"?) in "sise + 1"'
    assert (NAMED.says, NAMED.element, NAMED.got, NAMED.near_miss) == (
        "unknown column",
        "parse.schema",
        "'sise'",
        "size",
    )


def test_the_whole_adds_to_the_parts_of_a_problem() -> None:
    problem = Problem.of(NAMED, "streams", lead="its key", subject="network n")
    assert (problem.subject, problem.says, problem.element) == (
        "network n: stream s",
        "its key: unknown column",
        "streams.parse.schema",
    )
    assert (problem.near_miss, problem.source) == (NAMED.near_miss, NAMED.source)
    assert Problem.of("a sentence") == Problem("a sentence")


def test_an_error_keeps_the_parts_of_its_problems_on_the_way_between_processes() -> None:
    [problem] = pickle.loads(pickle.dumps(InvalidNetworkError(NAMED))).problems
    assert problem == NAMED
    assert all(getattr(problem, part) == getattr(NAMED, part) for part in Problem.__slots__)


def test_endless_words_are_shortened_in_all_that_is_shown() -> None:
    problem = Problem(f'unknown column "{"x" * 1000}"')
    assert max(map(len, (problem, problem.says))) < 100


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
