import json
import logging

import pytest

from streamshed.cli.terminal.logs import LogForm, logging_to_standard_error

LOGGER = logging.getLogger("streamshed.somewhere")


def lines(form: LogForm | None, capsys: pytest.CaptureFixture[str]) -> list[str]:
    with logging_to_standard_error(form):
        LOGGER.info("%d rows", 3)
        LOGGER.debug("no")
        try:
            raise ValueError("broken")
        except ValueError:
            LOGGER.exception("failed")
    LOGGER.info("afterwards")
    return capsys.readouterr().err.splitlines()


def test_lines_of_json_have_what_was_logged_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    first, second = map(json.loads, lines(LogForm.JSON, capsys))
    assert (first["level"], first["logger"], first["message"]) == ("INFO", "streamshed.somewhere", "3 rows")
    assert first["time"].endswith("+00:00")
    assert second["message"] == "failed"
    assert second["exception"].endswith("ValueError: broken")


def test_lines_of_text_are_read_by_people(capsys: pytest.CaptureFixture[str]) -> None:
    shown = lines(LogForm.TEXT, capsys)
    assert shown[0].endswith("INFO streamshed.somewhere: 3 rows")
    assert shown[1].endswith("ERROR streamshed.somewhere: failed")
    assert "afterwards" not in "".join(shown)


def test_without_a_form_logging_is_left_alone(capsys: pytest.CaptureFixture[str]) -> None:
    handlers = list(logging.getLogger("streamshed").handlers)
    with logging_to_standard_error(None):
        assert logging.getLogger("streamshed").handlers == handlers
    assert capsys.readouterr().err == ""
