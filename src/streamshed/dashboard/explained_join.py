"""What a join takes, and how it is shed, as text."""

from __future__ import annotations

from collections.abc import Iterator

from streamshed.network.terms.join_shedding import JoinMode
from streamshed.network.words.byte_size import format_byte_size
from streamshed.network.words.duration import format_duration
from streamshed.network.words.wording import count_text
from streamshed.planning.load.join_outlook import JoinOutlook


def joined_lines(join: JoinOutlook) -> Iterator[str]:
    """Write what is to be expected of a join for a person.

    Example:
        >>> from streamshed.network.model.network import network
        >>> from streamshed.network.source.sources import rate
        >>> from streamshed.network.model.declared_stream import stream
        >>> from streamshed.planning.load.join_outlook import join_outlooks
        >>> from streamshed.statistics.network_statistics import NetworkStatistics, StreamStatistics
        >>> calls, alerts = (stream(name, rate(1), time="timestamp") for name in ("calls", "alerts"))
        >>> pairs = calls.join(alerts.filter("value > 3"), on="value", within=("20 s", "5 s"), memory="512 MB")
        >>> rates = {"calls": StreamStatistics(rows_per_second=10.0), "alerts": StreamStatistics(rows_per_second=8e3)}
        >>> (outlook,) = join_outlooks(network(pairs.query("pairs")), NetworkStatistics(streams=rates))
        >>> for line in joined_lines(outlook):
        ...     print(line)
        join calls_alerts on value, nothing shed
          left   calls                    10 rows/s, 20 seconds in 21 basic windows
          right  alerts > filter value > 3    4 k rows/s, 5 seconds in 6 basic windows
          1 M comparisons/s, 20.2 k rows in windows
          of a micro-batch 0.003 s for comparisons, and 0.0117 s that nothing can save
          asked under overload: subset, greedy over 25 cells of 1 second, or of a multiple that finds more, 0.1 of it
          to learn, windows of at most 512 MB
    """
    yield f"join {join.join} on {join.condition}, nothing shed"
    width = max(len(join.left), len(join.right))
    sides = (
        ("left", join.left, join.left_rows_per_second, join.left_window_seconds, join.left_basic_windows),
        ("right", join.right, join.right_rows_per_second, join.right_window_seconds, join.right_basic_windows),
    )
    for side, name, rows, seconds, pieces in sides:
        window = f"{format_duration(round(seconds * 1e6))} in {_counted(pieces, 'basic window')}"
        yield f"  {side:<5}  {name:<{width}}  {count_text(rows)} rows/s, {window}"
    delay = format_duration(round(join.delay_seconds * 1e6))
    behind = f", {delay} behind, as windows close" if join.delay_seconds else ""
    sizes_text = (
        f"{count_text(join.comparisons_per_second)} comparisons/s, {count_text(join.state_rows)} rows in windows"
    )
    yield f"  {sizes_text}{behind}"
    saved, fixed = join.comparing_seconds, join.overhead_seconds
    if join.is_sheddable:
        yield f"  of a micro-batch {saved:.3g} s for comparisons, and {fixed:.3g} s that nothing can save"
    else:
        yield f"  {saved + fixed:.3g} s of a micro-batch, which nothing can save"
    yield f"  asked under overload: {_shedding(join)}"


def _shedding(join: JoinOutlook) -> str:
    match JoinMode(join.mode):
        case JoinMode.EXACT:
            return "exact, never shed"
        case JoinMode.SAMPLE:
            return f"sample, results of a share of the {join.sampled_side} rows, drawn by chance"
        case JoinMode.SUBSET:
            basic = format_duration(round(join.basic_window_seconds * 1e6))
            multiples = ", or of a multiple that finds more" if join.chooses_basic_window else ""
            parts = [
                f"subset, {join.policy} over {_counted(join.cells, 'cell')} of {basic}{multiples}",
                f"{join.sampling:g} of it to learn",
            ]
            if join.weight is not None:
                parts.append(f"results worth {join.weight}")
            if join.memory_bytes is not None:
                parts.append(f"windows of at most {format_byte_size(join.memory_bytes)}")
            return ", ".join(parts)


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"
