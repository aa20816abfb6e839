-- What goes through a network, asked seven times in overlapping ways: the network of network_monitor.yaml as SQL.
-- Packets arrive as Parquet files in out/packets.
--
--   streamshed validate examples/network_monitor.sql
--   streamshed run examples/network_monitor.sql

CREATE STREAM packets (
  ts TIMESTAMP,
  src_host STRING,
  dest_host STRING,
  src_port INT,
  dest_port INT,
  size INT, -- -1 for all but TCP
  proto SMALLINT,
  WATERMARK FOR ts AS ts - INTERVAL '1' SECOND
) WITH (folder = '../out/packets', format = 'parquet');

CREATE TABLE known_hosts WITH (path = 'known_hosts.parquet'); -- known_hosts.csv, as Parquet

-- Views are shared: what several queries have in common is done once.
CREATE VIEW tcp AS SELECT * FROM packets WHERE proto = 6;
CREATE VIEW udp AS SELECT * FROM packets WHERE proto = 17;
CREATE VIEW known AS SELECT * FROM tcp LEFT SEMI JOIN known_hosts ON tcp.src_host = known_hosts.host;

CREATE QUERY tcp_traffic AS
SELECT count(*) AS packets, sum(size) AS bytes
FROM tcp
GROUP BY window(ts, '1 minute', '10 seconds');

CREATE QUERY udp_packets AS
SELECT count(*) AS packets
FROM udp
GROUP BY window(ts, '1 minute', '10 seconds');

CREATE QUERY dns_packets AS
SELECT count(*) AS packets
FROM udp
WHERE dest_port = 53
GROUP BY window(ts, '10 minutes', '10 seconds');

CREATE QUERY web_traffic AS
SELECT count(*) AS packets, sum(size) AS bytes
FROM tcp
WHERE dest_port IN (80, 443)
GROUP BY window(ts, '5 minutes', '10 seconds');

CREATE QUERY large_packets AS
SELECT count(*) AS packets, sum(size) AS bytes
FROM tcp
WHERE size >= 1000
GROUP BY window(ts, '5 minutes', '10 seconds');

CREATE QUERY known_hosts_bytes AS
SELECT sum(size) AS bytes
FROM known
GROUP BY window(ts, '10 minutes', '10 seconds')
ON OVERLOAD SAMPLE WEIGHT 2;

CREATE QUERY known_hosts_uploads AS
SELECT count(*) AS packets, sum(size) AS bytes
FROM known
WHERE size >= 1000 AND src_port >= 1024
GROUP BY window(ts, '5 minutes', '10 seconds');

SET trigger = '2 seconds';
SET latency = '5 seconds';
SET headroom = 0.8;
SET policy = 'least_error';
SET checkpoint = '../out/network_monitor/checkpoint';
SET sink = (parquet = '../out/network_monitor/answers');
