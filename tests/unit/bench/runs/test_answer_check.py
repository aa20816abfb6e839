from streamshed_bench.runs.answer_check import AnswerCheck, checked


def test_answers_that_only_one_gave_are_not_compared() -> None:
    assert checked({("q", "n", 10): 1.0}, {("q", "n", 20): 1.0}) == AnswerCheck(compared=0, different=0)


def test_differences_beyond_rounding_are_counted() -> None:
    found = {("q", "n", 10): 1e12 + 1, ("q", "n", 20): 1e12 + 1e4, ("q", "n", 30): None}
    expected = {("q", "n", 10): 1e12, ("q", "n", 20): 1e12, ("q", "n", 30): 0.0}
    assert checked(found, expected) == AnswerCheck(compared=3, different=1)
