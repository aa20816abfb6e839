"""The queries of the benchmark `accuracy`, in the manner of [B04] Figure 3: a cheap branch, and dear operators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from streamshed.network.model.network import QueryNetwork, network
from streamshed.network.model.rows import Rows
from streamshed_bench.inputs.dear_operators import country, next_hop, reputation
from streamshed_bench.inputs.networks import PacketSource, typed_packets

if TYPE_CHECKING:
    import duckdb

WINDOW_SECONDS, SLIDE_SECONDS = 10, 1
GROUPED, SERVICE = "services", "least(src_port, dest_port)"


@dataclass(frozen=True, slots=True, kw_only=True)
class AccuracyQuery:
    """One of the seven.

    Args:
        name: Its name.
        condition: Which packets it takes, as SQL over the columns of a packet and of the dear operators.
        aggregate: What it computes of them.
    """

    name: str
    condition: str
    aggregate: str


SEVEN: tuple[AccuracyQuery, ...] = (
    AccuracyQuery(name="clocks", condition="proto = 17 AND dest_port = 123 AND src_port < 36000", aggregate="count(*)"),
    AccuracyQuery(name="sessions", condition="proto = 6 AND dest_port IN (20, 21, 22, 23, 25)", aggregate="sum(size)"),
    AccuracyQuery(name="web", condition="proto = 6 AND dest_port IN (80, 443)", aggregate="count(*)"),
    AccuracyQuery(name="trusted", condition="proto = 6 AND trust >= 0.9", aggregate="sum(size)"),
    AccuracyQuery(name="suspect", condition="proto = 6 AND trust < 0.5", aggregate="count(*)"),
    AccuracyQuery(
        name="abroad", condition="proto = 6 AND size >= 200 AND origin IN ('BR', 'KE', 'IN')", aggregate="count(*)"
    ),
    AccuracyQuery(name="routed", condition="proto = 6 AND src_port >= 1024 AND hop <= 4", aggregate="sum(size)"),
)
"""`trusted` and `suspect` share the reputation model."""


def accuracy_network(source: PacketSource) -> QueryNetwork:
    """Ask the seven queries, and an eighth by groups."""
    packets = typed_packets(source)
    tcp = packets.filter("proto = 6")
    judged = tcp.apply(reputation, columns=["src_host", "dest_port", "size"], into="trust", returns="double")
    located = tcp.filter("size >= 200").apply(country, columns=["src_host"], into="origin", returns="string")
    routed = tcp.filter("src_port >= 1024").apply(next_hop, columns=["dest_host"], into="hop", returns="bigint")
    places: Mapping[str, Rows] = {
        "clocks": packets.filter("proto = 17").filter("dest_port = 123 AND src_port < 36000"),
        "sessions": tcp.filter("dest_port IN (20, 21, 22, 23, 25)"),
        "web": tcp.filter("dest_port IN (80, 443)"),
        "trusted": judged.filter("trust >= 0.9"),
        "suspect": judged.filter("trust < 0.5"),
        "abroad": located.filter("origin IN ('BR', 'KE', 'IN')"),
        "routed": routed.filter("hop <= 4"),
    }
    windows = (f"{WINDOW_SECONDS} seconds", f"{SLIDE_SECONDS} second")
    queries = [
        places[query.name].window(windows[0], every=windows[1]).agg(answer=query.aggregate).query(query.name)
        for query in SEVEN
    ]
    grouped = tcp.window(windows[0], every=windows[1]).by(service=SERVICE).agg(answer="count(*)")
    return network(*queries, grouped.query(GROUPED))


Answers = dict[tuple[str, int], float]
"""By query, and the second at which the window ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactAnswers:
    """What is true.

    Args:
        answers: Of the seven queries, of all windows that have rows.
        rows: Rows behind each.
        groups: Of the query by groups: count by second and service.
    """

    answers: Answers
    rows: Answers
    groups: dict[int, dict[int, float]]


def exact_answers(files: Sequence[Path]) -> ExactAnswers:
    """Answer the queries over all packets: the dear operators once per distinct input, all else by DuckDB.

    Args:
        files: Typed packets.
    """
    import duckdb

    connection = duckdb.connect()
    try:
        paths = ", ".join(f"'{file}'" for file in files)
        connection.execute(f"CREATE VIEW packets AS SELECT * FROM read_parquet([{paths}])")
        _add_judged(connection)
        answers, rows = _sliding(connection)
        return ExactAnswers(answers=answers, rows=rows, groups=_grouped(connection))
    finally:
        connection.close()


def _add_judged(connection: duckdb.DuckDBPyConnection) -> None:
    """Make the view `judged`: packets with the columns of the dear operators."""
    scored = connection.execute("SELECT DISTINCT src_host, dest_port, size FROM packets").df()
    scored["trust"] = reputation(scored["src_host"], scored["dest_port"], scored["size"]).to_numpy()
    hosts = connection.execute("SELECT src_host AS host FROM packets UNION SELECT dest_host FROM packets").df()
    hosts["origin"] = country(hosts["host"]).to_numpy()
    hosts["hop"] = next_hop(hosts["host"]).to_numpy()
    connection.register("scored", scored)
    connection.register("hosts", hosts)
    connection.execute(
        "CREATE TEMP VIEW judged AS SELECT p.*, trust, s.origin, d.hop FROM packets p"
        " JOIN scored USING (src_host, dest_port, size)"
        " JOIN hosts s ON s.host = p.src_host JOIN hosts d ON d.host = p.dest_host"
    )


def _sliding(connection: duckdb.DuckDBPyConnection) -> tuple[Answers, Answers]:
    columns = ", ".join(
        f"{query.aggregate} FILTER (WHERE {query.condition}) AS a{number},"
        f" count(*) FILTER (WHERE {query.condition}) AS n{number}"
        for number, query in enumerate(SEVEN)
    )
    before = WINDOW_SECONDS - SLIDE_SECONDS
    over = f"OVER (ORDER BY second RANGE BETWEEN {before} PRECEDING AND CURRENT ROW)"
    windows = ", ".join(f"sum(a{number}) {over}, sum(n{number}) {over}" for number in range(len(SEVEN)))
    window_rows = connection.execute(
        f"WITH slices AS (SELECT epoch_us(ts) // 1000000 AS second, {columns}"
        " FROM judged GROUP BY second), seconds AS ("
        f"SELECT unnest(generate_series(min(second), max(second) + {before}))"
        f" AS second FROM slices) SELECT second + 1, {windows} FROM seconds LEFT JOIN slices USING (second)"
    ).fetchall()
    answers: Answers = {}
    rows: Answers = {}
    for end, *values in window_rows:
        for number, query in enumerate(SEVEN):
            answers[query.name, int(end)] = float(values[2 * number] or 0.0)
            rows[query.name, int(end)] = float(values[2 * number + 1] or 0.0)
    return answers, rows


def _grouped(connection: duckdb.DuckDBPyConnection) -> dict[int, dict[int, float]]:
    slices = connection.execute(
        f"SELECT epoch_us(ts) // 1000000 AS second, {SERVICE}, count(*) FROM packets WHERE proto = 6 GROUP BY ALL"
    ).fetchall()
    counts_by_end: dict[int, dict[int, float]] = {}
    for second, service, count in slices:
        for end in range(second + 1, second + 1 + WINDOW_SECONDS):
            of_window = counts_by_end.setdefault(end, {})
            of_window[service] = of_window.get(service, 0.0) + count
    return counts_by_end
