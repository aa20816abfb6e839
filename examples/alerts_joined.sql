-- Alerts of two sensors that are about the same attack: the network of alerts_joined.yaml, and of joined_alerts.py.
--
--   python examples/joined_alerts.py out/alerts
--   streamshed validate examples/alerts_joined.sql
--   streamshed run examples/alerts_joined.sql --checkpoint out/alerts/checkpoint

CREATE STREAM network_alerts (ts TIMESTAMP, host STRING, name STRING)
WATERMARK FOR ts AS ts - INTERVAL '5' SECONDS
WITH (folder = '../out/alerts/network', format = 'parquet');

CREATE STREAM host_alerts (ts TIMESTAMP, host STRING, severity INT)
WATERMARK FOR ts AS ts - INTERVAL '5' SECONDS
WITH (folder = '../out/alerts/host', format = 'parquet');

CREATE VIEW serious AS SELECT * FROM host_alerts WHERE severity >= 2;

-- Each pair once, whichever alert came later: a stream of its own, whose columns are network_ts, host_severity, ...
-- Under overload, lags at which little is found are not compared.
CREATE VIEW pairs WITH (basic_window = '5 seconds', policy = 'greedy', sampling = 0.1) AS
SELECT *
FROM network_alerts AS network JOIN serious AS host
  ON network.host = host.host
  AND host.ts BETWEEN network.ts - INTERVAL '5' SECONDS AND network.ts + INTERVAL '1' MINUTE;

CREATE VIEW lagged AS
SELECT *, floor((unix_seconds(host_ts) - unix_seconds(network_ts)) / 5) * 5 AS lag_seconds FROM pairs;

CREATE QUERY by_host AS
SELECT network_host, count(*) AS pairs, avg(host_severity) AS severity
FROM pairs
GROUP BY window(time, '1 minute'), network_host;

CREATE QUERY lag_profile AS
SELECT lag_seconds, count(*) AS pairs
FROM lagged
GROUP BY window(time, '10 minutes'), lag_seconds;

CREATE QUERY network_alerts AS
SELECT count(*) AS alerts
FROM network_alerts
GROUP BY window(ts, '1 minute');
