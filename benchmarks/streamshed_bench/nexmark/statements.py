"""The queries of Nexmark, as one asks streamshed and as one asks plain Spark, or why the first cannot be done.

The statements are those of docs/sql.md. Both engines deliver the same columns of the same rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

COLUMNS: Mapping[str, str] = MappingProxyType(
    {
        "person": "id BIGINT, name STRING, email_address STRING, credit_card STRING, city STRING, state STRING, "
        "date_time TIMESTAMP, extra STRING",
        "auction": "id BIGINT, item_name STRING, description STRING, initial_bid BIGINT, reserve BIGINT, "
        "date_time TIMESTAMP, expires TIMESTAMP, seller BIGINT, category BIGINT, extra STRING",
        "bid": "auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING, date_time TIMESTAMP, "
        "extra STRING",
    }
)
"""The columns of each stream."""
SIDE_INPUT = "side_input"
WATERMARK_SECONDS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class NexmarkQuery:
    """A query that can be asked.

    Args:
        ours: Statements of streamshed that ask the query `q`.
        native: What plain Spark is asked.
        streams: Those that it reads.
        to_files: Whether its answers go into files of Parquet.
    """

    ours: str
    native: str
    streams: tuple[str, ...] = ("bid",)
    to_files: bool = False


def streams_sql(
    folders: Mapping[str, Path], *, side_input: Path | None = None, files_per_micro_batch: int | None = None
) -> str:
    """Declare streams over folders of Parquet, and the bounded side input.

    Args:
        folders: By stream.
        side_input: The file of the relation; None: there is none.
        files_per_micro_batch: At most so many of each stream; None: all that have arrived.
    """
    most = "" if files_per_micro_batch is None else f", max_files_per_micro_batch = {files_per_micro_batch}"
    streams = [
        f"CREATE STREAM {name} ({COLUMNS[name]}, WATERMARK FOR date_time AS date_time - INTERVAL '{WATERMARK_SECONDS}'"
        f" SECOND) WITH (folder = '{folder}', format = 'parquet'{most});"
        for name, folder in folders.items()
    ]
    if side_input is not None:
        streams.append(f"CREATE TABLE {SIDE_INPUT} WITH (path = '{side_input}', format = 'parquet');")
    return "\n".join(streams)


def _names(stream: str, prefix: str = "", alias: str = "") -> str:
    """List the columns of a stream, with names that begin with a prefix."""
    columns = [column.split()[0] for column in COLUMNS[stream].split(", ")]
    return ", ".join(f"{alias}{column} AS {prefix}{column}" if prefix else column for column in columns)


def _replaced(column: str, expression: str) -> str:
    return _names("bid").replace(column, f"{expression} AS {column}")


_EUROS = "0.908 * price"
_BID = _names("bid")
_CHANNEL = "regexp_extract(url, '(&|^)channel_id=([^&]*)', 2)"
_Q14_COLUMNS = f"""{_EUROS} AS euros,
  CASE WHEN hour(date_time) BETWEEN 8 AND 18 THEN 'day' WHEN hour(date_time) <= 6 THEN 'night' ELSE 'other' END AS kind,
  length(extra) - length(replace(extra, 'c', '')) AS c_counts
FROM bid WHERE {_EUROS} > 1000000 AND {_EUROS} < 50000000"""
_Q21_COLUMNS = f"""CASE WHEN lower(channel) = 'apple' THEN '0' WHEN lower(channel) = 'google' THEN '1'
  ELSE {_CHANNEL} END AS channel_id
FROM bid WHERE {_CHANNEL} IS NOT NULL OR lower(channel) IN ('apple', 'google')"""
_Q22_COLUMNS = "split(url, '/')[3] AS dir1, split(url, '/')[4] AS dir2, split(url, '/')[5] AS dir3 FROM bid"
_AUCTION_AND_PERSON = f"{_names('auction', 'a_', 'a.')}, {_names('person', 'p_', 'p.')}"
_BID_AND_AUCTION = f"{_names('bid', 'b_', 'b.')}, {_names('auction', 'a_', 'a.')}"
_Q3_WHERE = "a.category = 10 AND p.state IN ('or', 'id', 'ca')"
_Q3_ON = "a.seller = p.id AND a.date_time BETWEEN p.date_time AND p.date_time + INTERVAL '1' HOUR"
_Q20_ON = "b.auction = a.id AND a.date_time >= b.date_time - INTERVAL '1' HOUR AND a.date_time <= b.date_time"
_DISTINCT = """count(*) AS total_bids, count(*) FILTER (WHERE price < 10000) AS rank1_bids,
  count(DISTINCT bidder) AS total_bidders, count(DISTINCT bidder) FILTER (WHERE price < 10000) AS rank1_bidders"""
_BY_CHANNEL = """max(date_format(date_time, 'HH:mm')) AS minute, count(*) AS total_bids,
  count(DISTINCT auction) AS total_auctions"""
_BY_AUCTION = """count(*) AS total_bids, count_if(price < 10000) AS rank1_bids, min(price) AS least,
  max(price) AS most, avg(price) AS average, sum(price) AS total"""
_DAY = "window(date_time, '1 day')"

HOT_AUCTIONS = """CREATE VIEW counts AS
SELECT auction, count(*) AS num
FROM HOP(TABLE bid, DESCRIPTOR(date_time), INTERVAL '2' SECOND, INTERVAL '10' SECOND)
GROUP BY auction, window_start, window_end;
CREATE VIEW most AS SELECT max(num) AS maxn FROM counts GROUP BY window(window_start, '2 seconds');
CREATE VIEW hot AS SELECT * FROM counts c JOIN most m ON c.num = m.maxn AND c.window_start = m.window_start;
CREATE QUERY q AS SELECT * FROM hot;"""
HIGHEST_BIDS = """CREATE VIEW highest AS
SELECT max(price) AS maxprice FROM TUMBLE(bid, date_time, INTERVAL '10 seconds') GROUP BY window_start, window_end;
CREATE QUERY q AS SELECT * FROM bid b JOIN highest h
  ON b.price = h.maxprice AND b.date_time BETWEEN h.window_start AND h.window_start + INTERVAL '10' SECOND
WHERE b.date_time < h_window_end;"""
NEW_SELLERS = """CREATE VIEW people AS
SELECT p.id, p.name, count(*) AS n FROM TABLE(TUMBLE(TABLE person, DESCRIPTOR(date_time), INTERVAL '10' SECOND)) AS p
GROUP BY p.id, p.name, window_start, window_end;
CREATE VIEW sellers AS
SELECT a.seller, count(*) AS n FROM TABLE(TUMBLE(TABLE auction, DESCRIPTOR(date_time), INTERVAL '10' SECOND)) AS a
GROUP BY a.seller, window_start, window_end;
CREATE QUERY q AS SELECT * FROM people p JOIN sellers s ON p.id = s.seller AND p.window_start = s.window_start;"""
_NATIVE_HOT = """WITH counts AS (SELECT window, auction, count(*) AS num FROM bid
  GROUP BY window(date_time, '10 seconds', '2 seconds'), auction),
most AS (SELECT window, max(num) AS maxn FROM counts GROUP BY window)
SELECT c.window.start AS c_window_start, c.window.end AS c_window_end, c.auction AS c_auction, c.num AS c_num,
  m.window.start AS m_window_start, m.window.start + INTERVAL '2' SECOND AS m_window_end, m.maxn AS m_maxn
FROM counts c JOIN most m ON c.num = m.maxn AND c.window = m.window"""
_NATIVE_HIGHEST = f"""WITH highest AS (
  SELECT window.start AS window_start, window.end AS window_end, window_time(window) AS last, maxprice
  FROM (SELECT window, max(price) AS maxprice FROM bid GROUP BY window(date_time, '10 seconds')))
SELECT {_names("bid", "b_", "b.")}, h.window_start AS h_window_start, h.window_end AS h_window_end,
  h.maxprice AS h_maxprice
FROM bid b JOIN highest h ON b.price = h.maxprice AND b.date_time BETWEEN h.last - INTERVAL '10' SECOND AND h.last
WHERE b.date_time >= h.window_start"""
_NATIVE_SELLERS = """WITH people AS (SELECT window, id, name, count(*) AS n FROM person
  GROUP BY window(date_time, '10 seconds'), id, name),
sellers AS (SELECT window, seller, count(*) AS n FROM auction GROUP BY window(date_time, '10 seconds'), seller)
SELECT p.window.start AS p_window_start, p.window.end AS p_window_end, p.id AS p_id, p.name AS p_name, p.n AS p_n,
  s.window.start AS s_window_start, s.window.end AS s_window_end, s.seller AS s_seller, s.n AS s_n
FROM people p JOIN sellers s ON p.id = s.seller AND p.window = s.window"""


def _rows(ours: str, native: str, *, to_files: bool = False) -> NexmarkQuery:
    return NexmarkQuery(ours=f"CREATE QUERY q AS SELECT {ours};", native=f"SELECT {native}", to_files=to_files)


def _windows(aggregates: str, keys: str = "") -> NexmarkQuery:
    by = f"{keys}, " if keys else ""
    return NexmarkQuery(
        ours=f"CREATE QUERY q AS SELECT {by}{aggregates}\nFROM bid GROUP BY {by}{_DAY}\n"
        "ON OVERLOAD DROP WINDOWS AT MOST 1 IN A ROW;",
        native=f"SELECT window.start AS window_start, window.end AS window_end, {by}{aggregates}\n"
        f"FROM bid GROUP BY {by}{_DAY}",
    )


ASKED: Mapping[str, NexmarkQuery] = MappingProxyType(
    {
        "q0": _rows("* FROM bid", f"{_BID} FROM bid"),
        "q1": _rows(f"*, {_EUROS} AS price FROM bid", f"{_replaced('price', _EUROS)} FROM bid"),
        "q2": _rows("* FROM bid WHERE MOD(auction, 123) = 0", f"{_BID} FROM bid WHERE MOD(auction, 123) = 0"),
        "q3": NexmarkQuery(
            ours=f"CREATE QUERY q AS SELECT * FROM auction AS a JOIN person AS p ON {_Q3_ON} WHERE {_Q3_WHERE};",
            native=f"SELECT {_AUCTION_AND_PERSON} FROM auction a JOIN person p ON {_Q3_ON} WHERE {_Q3_WHERE}",
            streams=("person", "auction"),
        ),
        "q5": NexmarkQuery(ours=HOT_AUCTIONS, native=_NATIVE_HOT),
        "q7": NexmarkQuery(ours=HIGHEST_BIDS, native=_NATIVE_HIGHEST),
        "q8": NexmarkQuery(ours=NEW_SELLERS, native=_NATIVE_SELLERS, streams=("person", "auction")),
        "q10": _rows(
            "*, date_format(date_time, 'yyyy-MM-dd') AS dt FROM bid",
            f"{_BID}, date_format(date_time, 'yyyy-MM-dd') AS dt FROM bid",
            to_files=True,
        ),
        "q13": NexmarkQuery(
            ours=f"""CREATE VIEW keyed AS SELECT *, MOD(auction, 10000) AS mod_key FROM bid;
CREATE QUERY q AS SELECT b.*, s.value FROM keyed b JOIN {SIDE_INPUT} s ON b.mod_key = s.key;""",
            native=f"""SELECT {_BID}, mod_key, value
FROM (SELECT *, MOD(auction, 10000) AS mod_key FROM bid) JOIN {SIDE_INPUT} ON mod_key = key""",
        ),
        "q14": _rows(f"*, {_Q14_COLUMNS}", f"{_BID}, {_Q14_COLUMNS}"),
        "q15": _windows(_DISTINCT),
        "q16": _windows(_BY_CHANNEL, "channel"),
        "q17": _windows(_BY_AUCTION, "auction"),
        "q20": NexmarkQuery(
            ours=f"CREATE QUERY q AS SELECT * FROM bid AS b JOIN auction AS a ON {_Q20_ON} WHERE a.category = 10;",
            native=f"SELECT {_BID_AND_AUCTION} FROM bid b JOIN auction a ON {_Q20_ON} WHERE a.category = 10",
            streams=("auction", "bid"),
        ),
        "q21": _rows(f"*, {_Q21_COLUMNS}", f"{_BID}, {_Q21_COLUMNS}"),
        "q22": _rows(f"*, {_Q22_COLUMNS}", f"{_BID}, {_Q22_COLUMNS}"),
    }
)
"""The queries that can be asked, by name."""

NOT_EXPRESSIBLE: Mapping[str, str] = MappingProxyType(
    {
        "q4": "averages without windows",
        **dict.fromkeys(("q6", "q9", "q18", "q19"), "last rows, best rows"),
        **dict.fromkeys(("q11", "q12"), "sessions, processing time"),
    }
)
"""Those that cannot, and what docs/sql.md says of them."""
