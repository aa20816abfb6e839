from streamshed.spark.query_name import free_name


def test_the_first_name_that_is_free_is_taken() -> None:
    taken: list[str | None] = [None]
    for expected in ("q", "q 2", "q 3"):
        assert free_name("q", taken) == expected
        taken.append(expected)
