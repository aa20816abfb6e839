"""Statements of SQL over bounded input, beside what DuckDB answers to its own SQL over the same rows."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

from streamshed.network.document.document import Language, parse_network
from streamshed.network.model.network import QueryNetwork
from streamshed.spark import answers, query_view

START = 1_704_067_200_000_000
SECOND = 1_000_000
STREAMS = """
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, date_time TIMESTAMP)
WATERMARK FOR date_time AS date_time - INTERVAL '4' SECOND WITH (folder = 'bid', format = 'parquet');
CREATE STREAM auction (id BIGINT, seller BIGINT, date_time TIMESTAMP)
WATERMARK FOR date_time AS date_time WITH (folder = 'auction', format = 'parquet');
CREATE TABLE names (key BIGINT, name STRING) WITH (path = 'names.csv');
"""
TUMBLED = "(t - t % 10000000)"
SLID = "(SELECT *, t - t % 5000000 - 5000000 * k AS w FROM bid, range(3) r(k))"
STATEMENTS = {
    "by_channel": (
        """
        SELECT channel, count(*) AS n, count(*) FILTER (WHERE price < 50) AS cheap, count(DISTINCT bidder) AS bidders,
          min(price) AS least, sum(price) AS total
        FROM bid GROUP BY channel, window(date_time, '10 seconds')
        """,
        f"""SELECT {TUMBLED}, channel, count(*), count(*) FILTER (price < 50), count(DISTINCT bidder), min(price),
          sum(price) FROM bid GROUP BY ALL""",
    ),
    "hopping": (
        """
        SELECT window_start, sum(b.price) AS total
        FROM TABLE(HOP(TABLE bid, DESCRIPTOR(date_time), INTERVAL '5' SECONDS, INTERVAL '15' SECONDS)) AS b
        WHERE b.price > 20 GROUP BY window_start, window_end
        """,
        f"SELECT w, sum(price) FROM {SLID} WHERE price > 20 GROUP BY w",
    ),
    "later": (
        "SELECT count(*) AS n FROM bid GROUP BY window(date_time, '10 seconds', '10 seconds', '3 seconds')",
        "SELECT t - (t - 3000000) % 10000000, count(*) FROM bid GROUP BY ALL",
    ),
    "share": (
        "SELECT 100.0 * count_if(price > 50) / count(*) AS share FROM bid GROUP BY tumble(interval '10 seconds')",
        f"SELECT {TUMBLED}, 100.0 * count_if(price > 50) / count(*) FROM bid GROUP BY ALL",
    ),
    "named": (
        """
        SELECT s.name, count(*) AS n FROM bid b JOIN names s ON b.bidder = s.key
        GROUP BY window(date_time, '10 seconds'), s.name
        """,
        f"SELECT {TUMBLED}, name, count(*) FROM bid JOIN names ON bidder = key GROUP BY ALL",
    ),
    "nameless": (
        """
        SELECT max(price) AS most FROM bid LEFT ANTI JOIN names ON bid.bidder = names.key
        GROUP BY window(date_time, '10 seconds')
        """,
        f"SELECT {TUMBLED}, max(price) FROM bid ANTI JOIN names ON bidder = key GROUP BY ALL",
    ),
    "members": (
        """
        SELECT count(*) AS n FROM bid WHERE price % 2 = 0 AND bidder IN (SELECT key FROM names)
        GROUP BY window(date_time, '10 seconds')
        """,
        f"SELECT {TUMBLED}, count(*) FROM bid WHERE price % 2 = 0 AND bidder IN (SELECT key FROM names) GROUP BY ALL",
    ),
    "computed": (
        """
        WITH euros AS (
          SELECT *, price * 2 AS price, CASE WHEN price > 50 THEN 'dear' ELSE 'cheap' END AS kind FROM bid)
        SELECT kind, auction % 2 AS odd, sum(price) AS total FROM euros
        GROUP BY kind, auction % 2, window(date_time, '10 seconds')
        """,
        f"""SELECT {TUMBLED}, CASE WHEN price > 50 THEN 'dear' ELSE 'cheap' END, auction % 2, sum(price * 2)
        FROM bid GROUP BY ALL""",
    ),
    "nested": (
        """
        SELECT max(n) AS most, count(*) AS auctions
        FROM (SELECT auction, count(*) AS n FROM TUMBLE(bid, date_time, INTERVAL '10 seconds')
              GROUP BY 1, window_start) AS c
        GROUP BY window(window_start, '30 seconds')
        """,
        f"""SELECT w - w % 30000000, max(n), count(*)
        FROM (SELECT {TUMBLED} AS w, auction, count(*) AS n FROM bid GROUP BY ALL) GROUP BY ALL""",
    ),
    "chosen": (
        """
        SELECT count(*) AS busy
        FROM (SELECT auction, count(*) AS n FROM bid
              GROUP BY auction, window(date_time, '10 seconds') HAVING count(*) > 2)
        GROUP BY window(window_start, '30 seconds')
        """,
        f"""SELECT w - w % 30000000, count(*)
        FROM (SELECT {TUMBLED} AS w, auction FROM bid GROUP BY ALL HAVING count(*) > 2) GROUP BY ALL""",
    ),
    "joined": (
        """
        SELECT b.bidder, count(*) AS n
        FROM auction a JOIN bid b
          ON a.id = b.auction
          AND b.date_time BETWEEN a.date_time - INTERVAL '2' SECONDS AND a.date_time + INTERVAL '9' SECONDS
        WHERE b.price > a.seller
        GROUP BY window(time, '10 seconds'), b.bidder
        """,
        """SELECT w - w % 10000000, bidder, count(*)
        FROM (SELECT greatest(b.t, a.t) AS w, bidder FROM auction a JOIN bid b
              ON a.id = b.auction AND b.t BETWEEN a.t - 2000000 AND a.t + 9000000
                AND b.price > a.seller) GROUP BY ALL""",
    ),
    "hot": (
        """
        SELECT c.auction, max(c.n) AS n
        FROM (SELECT auction, count(*) AS n FROM bid GROUP BY auction, window(date_time, '10 seconds')) AS c
        JOIN (SELECT max(n) AS most FROM
               (SELECT auction, count(*) AS n FROM bid GROUP BY auction, window(date_time, '10 seconds')) AS d
               GROUP BY window(window_start, '10 seconds')) AS m
          ON c.n = m.most AND c.window_start = m.window_start
        GROUP BY window(time, '10 seconds'), c.auction
        """,
        f"""SELECT w, auction, n FROM (SELECT {TUMBLED} AS w, auction, count(*) AS n FROM bid GROUP BY ALL)
        QUALIFY n = max(n) OVER (PARTITION BY w)""",
    ),
}
SQL = STREAMS + "".join(
    f"CREATE QUERY {name} AS {sql.strip()} ON OVERLOAD KEEP EXACT;" for name, (sql, _) in STATEMENTS.items()
)


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home, draws = tmp_path_factory.mktemp("nexmark"), random.Random(3)

    def instants(count: int) -> pa.Array:
        return pa.array([START + draws.randrange(90 * SECOND) for _ in range(count)], pa.timestamp("us", "UTC"))

    def numbers(count: int, least: int, most: int) -> pa.Array:
        return pa.array([draws.randint(least, most) for _ in range(count)])

    bids = {
        "auction": numbers(400, 1, 12),
        "bidder": numbers(400, 1, 9),
        "price": numbers(400, 1, 100),
        "channel": [draws.choice(["apple", "baidu", None]) for _ in range(400)],
        "date_time": instants(400),
    }
    auctions = {"id": numbers(60, 1, 12), "seller": numbers(60, 1, 50), "date_time": instants(60)}
    for name, columns in {"bid": bids, "auction": auctions}.items():
        (home / name).mkdir()
        pq.write_table(pa.table(columns), home / name / "rows.parquet")
    (home / "names.csv").write_text("key,name\n1,one\n2,two\n3,three\n4,three\n")
    return home


@pytest.fixture(scope="module")
def answered(inputs: Path, spark: SparkSession) -> Iterator[tuple[QueryNetwork, DataFrame]]:
    network = parse_network(SQL, folder=inputs, language=Language.SQL).network
    found = answers(network, spark).cache()
    yield network, found
    found.unpersist()


@pytest.mark.parametrize("name", STATEMENTS)
def test_a_statement_is_answered_as_duckdb_answers_it(
    name: str, inputs: Path, answered: tuple[QueryNetwork, DataFrame]
) -> None:
    network, found = answered
    query = network.query(name)
    assert query.aggregate is not None
    keys = [key.name for key in query.aggregate.keys]
    calls = [call for call, _ in query.aggregate.aggregates]
    rows = query_view(found, network, name).select("window_start", *keys, *calls).collect()
    assert _sorted((_microseconds(start), *values) for start, *values in rows) == _expected(name, inputs)
    assert rows


def _expected(name: str, inputs: Path) -> list[tuple[Any, ...]]:
    with duckdb.connect() as connection:
        for table in ("bid", "auction"):
            rows = f"read_parquet('{inputs}/{table}/*.parquet')"
            connection.execute(f"CREATE VIEW {table} AS SELECT *, epoch_us(date_time) AS t FROM {rows}")
        connection.execute(f"CREATE VIEW names AS SELECT * FROM read_csv('{inputs}/names.csv')")
        return _sorted(connection.execute(STATEMENTS[name][1]).fetchall())


def _microseconds(instant: datetime) -> int:
    return round(instant.replace(tzinfo=UTC).timestamp() * SECOND)


def _sorted(rows: Any) -> list[tuple[Any, ...]]:
    """Rows in one order, numbers as doubles to nine digits."""
    return sorted((tuple(_plain(value) for value in row) for row in rows), key=str)


def _plain(value: Any) -> Any:
    return round(float(value), 9) if isinstance(value, int | float) or hasattr(value, "as_tuple") else value
