import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamshed.network.document.yaml_text import read_yaml, write_yaml

TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), max_size=12)
WORDS = st.sampled_from(["on", "no", "true", "null", "~", "", "010", "1e3", ".5", "12:30", "0x1F", "<<", "2020-01-01"])
NUMBERS = st.integers() | st.floats(allow_nan=False)
SCALARS = TEXTS | WORDS | NUMBERS | st.booleans() | st.none()
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS | WORDS, inner, max_size=3)
)


@given(st.dictionaries(TEXTS | WORDS, VALUES, min_size=1))
def test_what_is_written_is_read_again(value: dict[str, object]) -> None:
    said = read_yaml(write_yaml(value))
    assert said.findings.problems == ()
    assert said.value == value


def test_only_true_and_false_are_truth_values() -> None:
    said = read_yaml("{on: yes, off: no, y: true, n: FALSE}")
    assert said.value == {"on": "yes", "off": "no", "y": True, "n": False}


def test_numbers_are_those_of_yaml_1_2() -> None:
    said = read_yaml("[010, 0x10, 0o10, 1e3, .5, 12:30, 1_000, -7, +7, 2020-01-01]")
    assert said.value == [10, 16, 8, 1000.0, 0.5, "12:30", "1_000", -7, 7, "2020-01-01"]


def test_each_value_has_its_line() -> None:
    marks = read_yaml("a:\n  b: 1\n  c:\n  - 2\n  - d: 3\n").findings.marks
    assert {keys: mark.line for keys, mark in marks.items()} == {
        (): 1,
        ("a",): 1,
        ("a", "b"): 2,
        ("a", "c"): 3,
        ("a", "c", 0): 4,
        ("a", "c", 1): 5,
        ("a", "c", 1, "d"): 5,
    }


def test_merged_mappings_can_be_overridden() -> None:
    said = read_yaml("a: &a {x: 1, y: 2}\nb: &b {<<: *a, y: 3}\nc: *b\nd: {<<: *b}\n")
    assert said.findings.problems == ()
    assert said.value == {
        "a": {"x": 1, "y": 2},
        "b": {"x": 1, "y": 3},
        "c": {"x": 1, "y": 3},
        "d": {"x": 1, "y": 3},
    }


def test_aliases_of_aliases_do_not_exhaust_the_memory() -> None:
    levels = [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 20)]
    said = read_yaml("a0: &a0 x\n" + "\n".join(levels))
    assert not said.is_readable
    assert "more than" in said.findings.problems[0].message


def test_deep_nesting_is_a_problem_and_no_crash() -> None:
    said = read_yaml("[" * 2000 + "]" * 2000)
    assert [problem.message for problem in said.findings.problems] == ["it is nested too deeply"]


def test_unknown_tags_run_nothing() -> None:
    said = read_yaml("a: !!python/object/apply:os.getcwd []")
    assert not said.is_readable or said.value == {"a": []}


def test_of_a_key_given_twice_either_value_can_be_read() -> None:
    text = "a: {x: 1}\nb: 1\na: {x: 2, y: 3}\nb: 2\nc: {d: 1, d: 2, d: 3}"
    said = [read_yaml(text, earlier=earlier).value for earlier in range(4)]
    assert said == [
        {"a": {"x": 2, "y": 3}, "b": 2, "c": {"d": 3}},
        {"a": {"x": 1, "y": 3}, "b": 1, "c": {"d": 2}},
        {"a": {"x": 1, "y": 3}, "b": 1, "c": {"d": 1}},
        {"a": {"x": 1, "y": 3}, "b": 1, "c": {"d": 1}},
    ]
    assert read_yaml(text).repeated == {("b",): 2, ("a", "x"): 2, ("c", "d"): 3}


def test_what_a_merged_mapping_holds_is_not_given_twice() -> None:
    text = "a: &a {x: 1, y: 2}\nb: {<<: *a, x: 3}"
    for earlier in (0, 1):
        said = read_yaml(text, earlier=earlier)
        assert (said.value, said.repeated) == ({"a": {"x": 1, "y": 2}, "b": {"x": 3, "y": 2}}, {})


@pytest.mark.parametrize("key", ["!!int x", "!!timestamp soon", "!!int 1", "!!float a"])
def test_a_key_that_is_no_text_is_named(key: str) -> None:
    said = read_yaml(f"queries:\n  {key}: {{from: a}}\n")
    [problem] = said.findings.problems
    assert (problem.line, problem.path) == (2, "queries")
    assert "a key is text" in problem.message
