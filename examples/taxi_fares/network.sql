-- What taxis earn, minute by minute, into a table of Delta Lake: the network of network.yaml as SQL.
--
--   streamshed validate examples/taxi_fares/network.sql
--   streamshed run examples/taxi_fares/network.sql

CREATE STREAM rides (
  ts timestamp, vendor_id string, payment_type string, tip_amount double, tolls_amount double,
  total_amount double
)
WATERMARK FOR ts AS ts - INTERVAL '5' SECONDS
WITH (folder = '../../out/taxi_fares/in');

CREATE VIEW plausible AS SELECT * FROM rides WHERE total_amount BETWEEN 2.5 AND 500;

CREATE QUERY revenue AS
SELECT count(*) AS rides, sum(total_amount) AS revenue
FROM plausible
GROUP BY window(ts, '1 minute', '10 seconds')
ON OVERLOAD SAMPLE WITHIN 2 PERCENT AT 95 PERCENT WEIGHT 2;

CREATE QUERY tips AS
SELECT vendor_id, sum(tip_amount) / sum(total_amount) AS tip_share
FROM plausible
WHERE payment_type = 'CRD'
GROUP BY window(ts, '5 minutes', '1 minute'), vendor_id;

CREATE QUERY tolls AS
SELECT sum(tolls_amount) AS tolls
FROM plausible
GROUP BY window(ts, '5 minutes', '1 minute')
ON OVERLOAD WEIGHT 2;

CREATE QUERY dearest_ride AS
SELECT max(total_amount) AS total
FROM plausible
GROUP BY window(ts, '1 minute')
ON OVERLOAD DROP WINDOWS AT MOST '10 minutes' IN A ROW;

SET trigger = '2 seconds', latency = '5 seconds', checkpoint = '../../out/taxi_fares/checkpoint',
  sink = (delta = '../../out/taxi_fares/answers');
