"""What the SQL of a node takes, measured by trials on a few rows rather than in micro-batches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

from streamshed.network.model.network import QueryNetwork
from streamshed.statistics.guess import guessed_parsing, guessed_statistics
from streamshed.statistics.network_statistics import NetworkStatistics


@dataclass(frozen=True, slots=True)
class SqlCost:
    """What the SQL of an operator, of an aggregate's keys and values, or of a stream's parsing takes.

    Attributes:
        seconds_per_row: Of one core, for a row that comes in; 0: less than could be seen.
        resolution_seconds: The least that could be seen, by row that comes in.
        share: The share of its stream's rows that came in.
        made_up: Whether the rows were made up, as the source had none.
    """

    seconds_per_row: float
    resolution_seconds: float
    share: float = 1.0
    made_up: bool = False

    def beside(self, guessed_seconds: float, believed_seconds: float, *, parallel_tasks: int) -> float:
        """Return what a row takes in all, as part of the duration of a micro-batch whose tasks run side by side.

        Args:
            guessed_seconds: What is guessed of a node that does nothing dear.
            believed_seconds: What is believed of this one.
            parallel_tasks: How many tasks run at a time.

        Example:
            What was seen counts, whatever was believed; what could not be seen cannot be dear.

            >>> seen, unseen = SqlCost(2e-5, 1e-6), SqlCost(0.0, 1e-6)
            >>> [round(cost.beside(3e-8, 5e-5, parallel_tasks=2) * 1e6, 2) for cost in (seen, unseen)]
            [10.03, 0.53]
        """
        if self.seconds_per_row > 0:
            return guessed_seconds + self.seconds_per_row / parallel_tasks
        return min(believed_seconds, guessed_seconds + self.resolution_seconds / parallel_tasks)


def with_sql_costs(
    statistics: NetworkStatistics, network: QueryNetwork, costs: Mapping[str, SqlCost], *, parallel_tasks: int
) -> NetworkStatistics:
    """Return statistics with the measured costs of SQL, a stream's parsing included.

    Args:
        statistics: Of all operators and queries, without these costs.
        network: The network.
        costs: By `Node.address` of a stream or an operator, and `Aggregate.asked_address`.
        parallel_tasks: How many tasks run at a time.
    """
    if not costs:
        return statistics
    guessed = guessed_statistics(network)
    streams = dict(statistics.streams)
    for stream in network.streams:
        if stream.name in costs and stream.name in streams:
            arriving = streams[stream.name]
            guess = guessed.stream(stream.name).parse_seconds_per_row - guessed_parsing(stream)
            seconds = costs[stream.name].beside(guess, arriving.parse_seconds_per_row, parallel_tasks=parallel_tasks)
            streams[stream.name] = replace(arriving, parse_seconds_per_row=seconds)
    operators = dict(statistics.operators)
    for address in costs.keys() & operators.keys():
        operator, guess = operators[address], guessed.operators[address].seconds_per_row
        seconds = costs[address].beside(guess, operator.seconds_per_row, parallel_tasks=parallel_tasks)
        operators[address] = replace(operator, seconds_per_row=seconds, is_measured=True)
    queries = dict(statistics.queries)
    places = {one.name: one.aggregate.asked_address for one in network.queries if one.aggregate is not None}
    alike = Counter(places.values())
    for name, address in places.items():
        if address in costs:
            cost = replace(costs[address], seconds_per_row=costs[address].seconds_per_row / alike[address])
            query, guess = queries[name], guessed.queries[name].seconds_per_row
            seconds = cost.beside(guess, query.seconds_per_row, parallel_tasks=parallel_tasks)
            queries[name] = replace(query, seconds_per_row=seconds)
    return replace(statistics, streams=streams, operators=operators, queries=queries)
