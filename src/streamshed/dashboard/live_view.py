"""The live view of a run: one panel of figures with their recent course, one table of queries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from rich import box
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from streamshed.dashboard.run_history import DomainSoFar, RunHistory, RunMoment
from streamshed.network.words.wording import count_text, seconds_text, share_text

if TYPE_CHECKING:
    from streamshed.spark.loop.run_status import QueryStatus

_SHOWN_MOMENTS = 40
_REASON_STYLES = {
    "within_budget": "green",
    "catching_up": "green",
    "not_worth_shedding": "green",
    "overload": "yellow",
    "saturated": "bold red",
}


def live_view(history: RunHistory, *, title: str, elapsed_seconds: float, note: str = "") -> RenderableType:
    """Draw a run.

    Args:
        history: The run up to now.
        title: What runs.
        elapsed_seconds: For how long.
        note: One more line, such as what a demo is doing.
    """
    heading = f"[bold]streamshed[/bold] · {title} · {seconds_text(elapsed_seconds)}"
    lines: list[RenderableType] = [Text(note, style="cyan")] if note else []
    if history.latest is None:
        lines.append(Text("waiting for the first micro-batch ..."))
        return Panel(Group(*lines), title=heading, title_align="left", box=box.ROUNDED)
    for clock, domain in sorted(history.domains.items()):
        if len(history.domains) > 1:
            lines.append(Text(f"clock {clock}", style="bold"))
        lines += [_figures(domain), _decision(domain)]
    lines.append(_queries(history))
    return Panel(Group(*lines), title=heading, title_align="left", box=box.ROUNDED)


def _figures(domain: DomainSoFar) -> Table:
    latest, now = domain.latest, domain.moments[-1]
    grid = Table.grid(padding=(0, 2))
    trigger, used = latest.trigger_interval_seconds, latest.processing_seconds
    rows: list[tuple[str, Callable[[RunMoment], float], float | None, str]] = [
        (
            "offered",
            lambda m: m.offered_rows_per_second,
            None,
            f"{count_text(now.offered_rows_per_second)} rows/s",
        ),
        ("kept", lambda m: m.kept_share, 1.0, share_text(now.kept_share)),
        ("load", lambda m: m.utilization, 1.0, f"{seconds_text(used)} of {seconds_text(trigger)}"),
        ("delay", lambda m: m.delay_seconds, None, seconds_text(now.delay_seconds)),
    ]
    for name, value, top, text in rows:
        course = sparkline([value(moment) for moment in domain.moments[-_SHOWN_MOMENTS:]], top=top)
        style = "red" if name == "load" and now.utilization > 1 else "bold"
        grid.add_row(Text(name, style="dim"), Text(text, style=style), Text(course, style="blue"))
    return grid


def _decision(domain: DomainSoFar) -> Text:
    latest = domain.latest
    text = Text()
    text.append(latest.reason.replace("_", " "), style=_REASON_STYLES.get(latest.reason, "cyan"))
    if latest.explanation:
        text.append(f": {latest.explanation}")
    if latest.is_shedding and latest.effective_sampling_rates:
        queries: dict[float, list[str]] = {}
        for query, sampling_rate in sorted(latest.effective_sampling_rates.items()):
            queries.setdefault(sampling_rate, []).append(query)
        in_force = (f"{share_text(kept)} {', '.join(names)}" for kept, names in sorted(queries.items()))
        text.append(f"\neffective sampling rates: {'; '.join(in_force)}")
    dropping = {query: share for query, share in sorted(latest.kept_shares.items()) if share < 1}
    if dropping:
        kept_windows = (f"{share_text(share)} {name}" if share else f"none {name}" for name, share in dropping.items())
        text.append(f"\nwindows kept: {'; '.join(kept_windows)}")
    if latest.samplers:
        placed = (f"{share_text(sampling_rate)} {place}" for place, sampling_rate in latest.samplers.items())
        text.append(f"\nsamplers: {'; '.join(placed)}")
    text.append(
        f"\nmicro-batch {latest.micro_batch_id} · backlog {count_text(latest.backlog_rows)} rows"
        f" · late {count_text(domain.late_pairs)} · unreadable {count_text(latest.unreadable_rows)}"
        f" · lost {count_text(latest.lost_rows)}",
        style="dim",
    )
    return text


def _queries(history: RunHistory) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, expand=False)
    table.add_column("query", no_wrap=True)
    for heading in ("answers", "exact", "error ±", "gaps", "late", "latest window"):
        table.add_column(heading, justify="right", no_wrap=True)
    for name, query in sorted(history.queries.items()):
        table.add_row(name, *query_cells(query))
    return table


def query_cells(query: QueryStatus) -> Sequence[str]:
    """What the table says of a query: answers, share exact, error, gaps, late, end of the latest window."""
    answered = query.answers or query.rows
    exact = share_text(query.exact_answers / query.answers) if query.answers else "–"
    error = "exact" if query.relative_error == 0 else share_text(query.relative_error)
    end = query.latest_window_end_seconds
    if query.latest_window_until is not None:
        latest = str(query.latest_window_until)
    else:
        latest = "–" if end is None else datetime.fromtimestamp(end % 86_400, UTC).strftime("%H:%M:%S")
    gaps = count_text(query.gaps)
    if query.predictions:
        gaps += f" ({count_text(query.predictions)} predicted)"
    return (count_text(answered), exact, error, gaps, count_text(query.late_pairs), latest)


_BARS = "▁▂▃▄▅▆▇█"


def sparkline(values: Sequence[float], *, top: float | None = None) -> str:
    """Draw values as bars, one character each.

    Args:
        values: At least 0.
        top: The value of the highest bar; None: the largest value.

    Example:
        >>> sparkline([0, 1, 2, 4, 8])
        '▁▁▂▄█'
        >>> sparkline([1, 1], top=2), sparkline([])
        ('▄▄', '')
    """
    highest = max(values, default=0.0) if top is None else top
    if highest <= 0:
        return _BARS[0] * len(values)
    return "".join(_BARS[_level(value / highest)] for value in values)


def _level(share: float) -> int:
    return min(len(_BARS) - 1, max(0, round(share * len(_BARS)) - 1))
