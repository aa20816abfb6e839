from streamshed.spark.loop.journal_row import rows_admitted


def test_rows_of_joins_are_not_admitted_once_more() -> None:
    assert rows_admitted({"calls": 100, "alerts": 50}, {"calls": 25.0, "calls_alerts": 150.0}) == 75.0
