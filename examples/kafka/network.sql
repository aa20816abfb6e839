-- Packets from a topic, answers to another one: the network of network.yaml as SQL.
--
--   streamshed validate examples/kafka/network.sql
--   streamshed run examples/kafka/network.sql

CREATE STREAM packets
PARSE value AS JSON (ts timestamp, proto int, dest_port int, size int)
WATERMARK FOR ts AS ts - INTERVAL '5' SECONDS
WITH (kafka = 'packets', servers = '127.0.0.1:19092', start = 'earliest');

CREATE VIEW tcp AS SELECT * FROM packets WHERE proto = 6;

CREATE QUERY tcp_bytes AS
SELECT count(*) AS packets, sum(size) AS bytes
FROM tcp
GROUP BY window(ts, '1 minute', '10 seconds');

CREATE QUERY by_port AS
SELECT dest_port, count(*) AS packets, avg(size) AS mean
FROM tcp
GROUP BY window(ts, '10 seconds'), dest_port;

CREATE QUERY largest AS
SELECT max(size) AS size
FROM packets
GROUP BY window(ts, '10 seconds')
ON OVERLOAD DROP WINDOWS AT MOST 2 IN A ROW;

SET trigger = '2 seconds', latency = '5 seconds', checkpoint = '../../out/kafka/checkpoint',
  sink = (kafka = 'answers', servers = '127.0.0.1:19092');
