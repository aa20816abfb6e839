-- How often in an hour a share's highest and lowest price within five minutes lay more than 5 apart: the network of
-- stocks.py as SQL. The class Spread is the one of that script.
--
--   PYTHONPATH=examples streamshed explain examples/stocks.sql --load 1.5

CREATE STREAM trades (ts TIMESTAMP, symbol STRING, price DOUBLE)
WATERMARK FOR ts AS ts
WITH (folder = '../out/trades', format = 'parquet', max_files_per_micro_batch = 1);

CREATE AGGREGATE FUNCTION spread_of RETURNS DOUBLE AS 'stocks:Spread';

CREATE VIEW spreads AS
SELECT spread_of(price) AS spread
FROM trades
WHERE symbol = 'IBM'
GROUP BY window(ts, '5 minutes');

CREATE QUERY large_spreads AS
SELECT count(*) AS n
FROM spreads
WHERE spread > 5
GROUP BY window(window_start, '1 hour')
ON OVERLOAD DROP WINDOWS AT MOST 1 IN A ROW;

CREATE QUERY trades AS
SELECT symbol, count(*) AS trades
FROM trades
GROUP BY window(ts, '1 hour'), symbol;
