"""What a join takes at a load, nothing of it shed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from streamshed.joins.model.join_windows import JoinWindows
from streamshed.joins.model.side import Side
from streamshed.network.model.join_source import JoinSource
from streamshed.network.model.network import QueryNetwork
from streamshed.network.model.stream import Stream
from streamshed.network.terms.join_shedding import JoinMode
from streamshed.planning.load.join_delay import delay_of_stream
from streamshed.planning.load.partly_joinable import partly_joinable
from streamshed.planning.tree.scalability import protected_streams
from streamshed.statistics.join_sides import rows_per_second_of
from streamshed.statistics.join_statistics import JoinStatistics
from streamshed.statistics.network_statistics import NetworkStatistics


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinOutlook:
    """A join, and what it takes in full.

    Attributes:
        join: The name of the stream of its results.
        condition: When two rows join.
        left: The left side, as a `Node.address`.
        right: The right side.
        left_window_seconds: w1, how long left rows wait.
        right_window_seconds: w2, how long right ones do.
        basic_window_seconds: b, or the smallest it may be.
        left_basic_windows: n_1 = 1 + ⌈w1/b⌉.
        right_basic_windows: n_2.
        cells: How many pieces of the lags are learned and shed by themselves.
        left_rows_per_second: λ1 at that load, behind the operators before the join.
        right_rows_per_second: λ2.
        event_seconds_per_second: How fast event time goes by, which windows are of.
        comparisons_per_second: λ1·λ2·(w1 + w2), but for pairs of different partitions, whatever an index saves of them.
        delay_seconds: D, how far it stays behind the watermark, as answers of windows come when these close; else 0.
        state_rows: λ1·(w1 + D) + λ2·(w2 + D).
        overhead_seconds: What it takes of a micro-batch before anything is compared: new rows, reading windows.
        comparing_seconds: What all comparisons take, and their results.
        is_sheddable: Whether only a part of them may be made.
        mode: What its results are under overload: "subset", "exact" or "sample".
        policy: In mode subset, how what is compared is chosen; else None.
        weight: What a result is worth, SQL; None: all are worth the same.
        memory_bytes: How much its windows may take; None: as much as they have.
        sampling: γ.
        sampled_side: In mode sample, whose rows are drawn; else None.
        chooses_basic_window: Whether b is chosen while the join is shed, among multiples of that size.
    """

    join: str
    condition: str
    left: str
    right: str
    left_window_seconds: float
    right_window_seconds: float
    basic_window_seconds: float
    left_basic_windows: int
    right_basic_windows: int
    cells: int
    left_rows_per_second: float
    right_rows_per_second: float
    event_seconds_per_second: float
    comparisons_per_second: float
    delay_seconds: float
    state_rows: float
    overhead_seconds: float
    comparing_seconds: float
    is_sheddable: bool
    mode: str
    policy: str | None
    weight: str | None
    memory_bytes: int | None
    sampling: float
    sampled_side: str | None = None
    chooses_basic_window: bool = False


def join_outlooks(
    network: QueryNetwork,
    statistics: NetworkStatistics,
    *,
    load_factor: float = 1.0,
    trigger_interval_seconds: float = 1.0,
) -> tuple[JoinOutlook, ...]:
    """Tell what the joins of a network take in full once their windows are full ([G05] §4.1).

    Args:
        network: The network.
        statistics: What is known of its joins, and of the streams that it joins; what is not is guessed.
        load_factor: Times the rows per second that are known; comparisons go by its square.
        trigger_interval_seconds: How long rows of a micro-batch gather.

    Example:
        >>> from streamshed.network.model.network import network
        >>> from streamshed.network.source.sources import rate
        >>> from streamshed.network.model.declared_stream import stream
        >>> from streamshed.statistics.network_statistics import StreamStatistics
        >>> calls, alerts = (stream(name, rate(1), time="timestamp") for name in ("calls", "alerts"))
        >>> pairs = calls.join(alerts, on="value", within=("20 s", "5 s"), basic_window="1 s")
        >>> rates = {"calls": StreamStatistics(rows_per_second=10.0), "alerts": StreamStatistics(rows_per_second=4.0)}
        >>> (outlook,) = join_outlooks(network(pairs.query("pairs")), NetworkStatistics(streams=rates))
        >>> outlook.comparisons_per_second, outlook.state_rows
        (1000.0, 220.0)
        >>> round(outlook.overhead_seconds, 6), round(outlook.comparing_seconds, 9)
        (0.007714, 3e-06)
        >>> (busy,) = join_outlooks(network(pairs.query("pairs")), NetworkStatistics(streams=rates), load_factor=3.0)
        >>> busy.comparisons_per_second, busy.state_rows
        (9000.0, 660.0)
        >>> outlook.left_basic_windows, outlook.right_basic_windows, outlook.cells
        (21, 6, 25)
    """
    sheddable = partly_joinable(network.streams, protected_streams(network))
    return tuple(
        _outlook(
            stream,
            stream.joined,
            statistics,
            load=load_factor,
            interval=trigger_interval_seconds,
            is_sheddable=stream.name in sheddable,
        )
        for stream in network.streams
        if stream.joined is not None
    )


def _outlook(
    stream: Stream, join: JoinSource, statistics: NetworkStatistics, *, load: float, interval: float, is_sheddable: bool
) -> JoinOutlook:
    windows = JoinWindows(join.left_microseconds, join.right_microseconds, join.basic_microseconds)
    w1, w2 = join.left_microseconds / 1e6, join.right_microseconds / 1e6
    measured, speed = statistics.join(stream.name), statistics.stream(stream.name).event_seconds_per_second
    left, right = (load * rows for rows in _rows_per_second(join, measured, statistics))
    comparisons = measured.compared_share * left * right * (w1 + w2) / speed
    pieces = [windows.basic_windows(side) for side in Side]
    delay, shedding = delay_of_stream(stream) / 1e6, join.shedding
    return JoinOutlook(
        join=stream.name,
        condition=str(join.condition),
        left=join.left.address,
        right=join.right.address,
        left_window_seconds=w1,
        right_window_seconds=w2,
        basic_window_seconds=join.basic_microseconds / 1e6,
        left_basic_windows=pieces[0],
        right_basic_windows=pieces[1],
        cells=windows.cells,
        left_rows_per_second=left,
        right_rows_per_second=right,
        event_seconds_per_second=speed,
        comparisons_per_second=comparisons,
        delay_seconds=delay,
        state_rows=(left * (w1 + delay) + right * (w2 + delay)) / speed,
        overhead_seconds=measured.overhead_seconds(rows=(left + right) * interval, basic_windows=sum(pieces)),
        comparing_seconds=measured.comparing_seconds(comparisons * interval),
        is_sheddable=is_sheddable,
        mode=str(shedding.mode),
        policy=shedding.policy if shedding.mode is JoinMode.SUBSET else None,
        weight=None if shedding.weight is None else shedding.weight.text,
        memory_bytes=shedding.memory_bytes,
        sampling=shedding.sampling,
        sampled_side=shedding.sampled_side if join.is_sampled else None,
        chooses_basic_window=join.chooses_basic and shedding.mode is JoinMode.SUBSET,
    )


def _rows_per_second(join: JoinSource, measured: JoinStatistics, statistics: NetworkStatistics) -> Iterator[float]:
    """Of both sides, as measured where they come to the join, else as their streams' are."""
    for node, rows in ((join.left, measured.left_rows_per_second), (join.right, measured.right_rows_per_second)):
        yield rows_per_second_of(node, statistics) if rows is None else rows
