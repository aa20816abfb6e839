import io

from rich.console import Console

from streamshed.cli.terminal.progress_bar import progress_of


def test_on_a_terminal_a_bar() -> None:
    output = io.StringIO()
    with progress_of("staging", console=Console(file=output, force_terminal=True, width=100)) as show:
        show(0.5, "1 M rows")
        show(1.0, "2 M rows")
    assert "staging" in output.getvalue()
    assert "100%" in output.getvalue()
    assert "2 M rows" in output.getvalue()


def test_elsewhere_a_line_every_five_seconds() -> None:
    now = [0.0]
    output = io.StringIO()
    with progress_of("staging", console=Console(file=output), clock=lambda: now[0]) as show:
        for second in range(1, 13):
            now[0] = float(second)
            show(second / 12, f"{second} files")
    assert output.getvalue() == "staging: 42% 5 files\nstaging: 83% 10 files\n"


def test_what_is_done_in_no_time_says_nothing() -> None:
    output = io.StringIO()
    with progress_of("staging", console=Console(file=output), clock=lambda: 0.0) as show:
        show(1.0, "done")
    assert output.getvalue() == ""
