-- How many alerts are severe, each counted as often as it stands for others: what the second of two_applications.py
-- asks, as SQL. The function judged is the one of that script.
--
--   PYTHONPATH=examples streamshed validate examples/alerts_judged.sql

CREATE STREAM alerts (value BIGINT, timestamp TIMESTAMP, severity INT, stands_for DOUBLE)
WATERMARK FOR timestamp AS timestamp - INTERVAL '5' SECONDS
WITH (folder = '../out/alerts', format = 'parquet', identity = (value));

CREATE FUNCTION judged RETURNS BOOLEAN AS 'two_applications:judged';

CREATE VIEW judged_alerts AS SELECT *, judged(severity) AS is_severe FROM alerts;

CREATE QUERY severe AS
SELECT sum(stands_for) AS n
FROM judged_alerts
WHERE is_severe
GROUP BY window(timestamp, '10 seconds');

CREATE QUERY alerts AS
SELECT sum(stands_for) AS n, count(*) AS delivered
FROM alerts
GROUP BY window(timestamp, '10 seconds');
