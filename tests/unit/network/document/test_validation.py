"""Documents in tests/golden/documents and the problems that each of them has."""

from pathlib import Path

import pytest

from streamshed.errors import DocumentProblem
from streamshed.network.document.validation import validate_document

GOLDEN = Path(__file__).parents[3] / "golden" / "documents"
STREAMS = """
streamshed: 1
streams: {packets: {source: {folder: packets, schema: "ts timestamp, size int"}, time: ts}}
"""


def problem_lines(file: Path) -> str:
    problems = validate_document(file.read_text(), folder=file.parent)
    text = "\n".join(f"{problem.line}: {problem.described()}" for problem in problems) + "\n"
    return text.replace(str(file.parent), "<folder>")


@pytest.mark.parametrize("file", sorted(GOLDEN.glob("*.yaml")), ids=lambda file: file.stem)
def test_a_document_has_exactly_the_problems_listed_beside_it(file: Path) -> None:
    assert problem_lines(file) == file.with_suffix(".problems").read_text()


@pytest.mark.parametrize("file", sorted(GOLDEN.glob("*.yaml")), ids=lambda file: file.stem)
def test_no_problem_is_reported_twice_and_all_come_in_order(file: Path) -> None:
    problems = validate_document(file.read_text(), folder=file.parent)
    assert problems
    assert len({(problem.path, problem.message) for problem in problems}) == len(problems)
    lines = [problem.line for problem in problems if problem.line is not None]
    assert lines == sorted(lines)
    assert len(lines) == len(problems)


def test_a_problem_says_path_value_message_near_miss_and_line() -> None:
    document = f"{STREAMS}queries: {{large: {{from: pakets}}}}\n"
    assert validate_document(document) == (
        DocumentProblem("queries.large.from", "pakets", "unknown stream or operator", "packets", 4),
    )


def test_unused_streams_and_operators_are_no_problem() -> None:
    operators = "operators: {large: {from: packets, filter: size > 9}}"
    document = f"{STREAMS}{operators}\nqueries: {{all: {{from: packets}}}}"
    assert validate_document(document) == ()


def test_options_that_would_not_be_heeded_are_reported_where_they_stand() -> None:
    document = """
streamshed: 1
streams:
  lines: {source: {folder: in, format: json, schema: "ts timestamp", options: {multiLine: true}}, time: ts}
  texts:
    source: {folder: in, format: text}
    parse: {csv: value, schema: "ts timestamp", options: {mode: FAILFAST}}
    time: ts
queries: {a: {from: lines}, b: {from: texts}}
"""
    found = [(problem.path, problem.message.split(" (")[0]) for problem in validate_document(document)]
    assert found == [
        ("streams.lines.source.options", 'the option "multiLine" of a json folder can only be false'),
        ("streams.texts.parse.options", 'the option "mode" of a csv text can only be PERMISSIVE'),
    ]


class TestExpressionChecker:
    DOCUMENT = STREAMS + (
        "operators:\n"
        "  large: {from: packets, filter: size > 9}\n"
        "  mapped: {from: large, map: {kb: size / 1024}}\n"
        "queries:\n"
        "  q: {from: mapped, where: kb > 3, window: {size: 1 minute}, by: [size, {class: size div 9}],"
        " aggregates: {n: sum(size)}}\n"
    )

    def test_is_asked_about_every_expression(self) -> None:
        asked: list[str] = []

        def checker(text: str) -> None:
            asked.append(text)

        assert validate_document(self.DOCUMENT, expression_checker=checker) == ()
        assert asked == ["size > 9", "size / 1024", "kb > 3", "size div 9", "sum(size)"]

    def test_has_the_last_word_and_a_problem_is_reported_once(self) -> None:
        problems = validate_document(self.DOCUMENT, expression_checker=lambda text: f"no {text}")
        assert [(problem.path, problem.message) for problem in problems] == [
            ("operators.large.filter", "no size > 9"),
            ("operators.mapped.map.kb", "no size / 1024"),
            ("queries.q.where", "no kb > 3"),
            ("queries.q.by[1].class", "no size div 9"),
            ("queries.q.aggregates.n", "no sum(size)"),
        ]


def test_neither_sources_nor_checkpoint_need_to_exist(tmp_path: Path) -> None:
    document = f"{STREAMS}queries: {{all: {{from: packets}}}}\nrun: {{checkpoint: nowhere}}\n"
    assert validate_document(document, folder=tmp_path / "missing") == ()


def test_long_chains_of_operators_are_checked() -> None:
    links = [f"  o{i}: {{from: {f'o{i - 1}' if i else 'packets'}, filter: size > {i}}}" for i in range(150)]
    document = STREAMS + "operators:\n" + "\n".join(reversed(links)) + "\nqueries: {all: {from: o149}}\n"
    assert validate_document(document) == ()


def test_many_queries_are_checked() -> None:
    queries = [
        f"  q{i}: {{from: packets, where: size > {i}, window: {{size: 1 s}}, aggregates: {{n: count(*)}}}}"
        for i in range(700)
    ]
    assert validate_document(STREAMS + "queries:\n" + "\n".join(queries)) == ()


def test_what_a_document_says_is_never_taken_for_what_is_said_about_it() -> None:
    text = """'no (did you mean \\"n\\"?), got x'"""
    document = f"""
streamshed: 1
streams: {{ticks: {{source: {{rate: {{rows_per_second: 10}}}}, time: timestamp}}}}
queries: {{total: {{from: ticks, window: {{size: 1 minute}}, aggregates: {{n: "{text}"}}}}}}
"""
    [problem] = validate_document(document)
    assert problem.near_miss is None
    assert problem.message.startswith(f'"{problem.value}" is no aggregate: write a call such as "sum({problem.value})"')
