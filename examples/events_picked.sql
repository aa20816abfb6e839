-- Every second event is an alert: what the first of two_applications.py asks, as SQL.
--
--   streamshed validate examples/events_picked.sql

CREATE STREAM events
WATERMARK FOR timestamp AS timestamp
WITH (rows_per_second = 1000);

CREATE QUERY alerts AS
SELECT *, cast(value % 5 AS int) AS severity FROM events WHERE value % 2 = 0;

CREATE QUERY events AS
SELECT count(*) AS n
FROM events
GROUP BY window(timestamp, '10 seconds');
