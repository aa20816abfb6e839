-- Largest packets and busiest hosts, exactly or not at all: the network of extremes.yaml as SQL. Under overload whole
-- windows are dropped, no more in a row than AT MOST says, beside a count that is answered from a sample.
-- Records arrive as Parquet files in out/packets_json.
--
--   streamshed validate examples/extremes.sql
--   streamshed explain examples/extremes.sql --load 3

CREATE STREAM packets (
  key BINARY, value BINARY, topic STRING, partition INT, offset BIGINT, timestamp TIMESTAMP,
  PARSE value AS JSON (src_host STRING, dest_host STRING, src_port INT, dest_port INT, size INT, proto SMALLINT),
  WATERMARK FOR timestamp AS timestamp - INTERVAL '1' SECOND
) WITH (folder = '../out/packets_json', format = 'parquet', identity = (topic, partition, offset));

CREATE VIEW tcp AS SELECT * FROM packets WHERE proto = 6;

CREATE QUERY largest_by_port AS
SELECT dest_port, max(size) AS largest, min(size) AS smallest
FROM TABLE(TUMBLE(TABLE tcp, DESCRIPTOR(timestamp), INTERVAL '10' SECONDS))
GROUP BY window_start, window_end, dest_port
ON OVERLOAD DROP WINDOWS AT MOST '1 minute' IN A ROW;

CREATE QUERY largest AS
SELECT max(size) AS largest
FROM tcp
GROUP BY window(timestamp, '1 second')
ON OVERLOAD DROP WINDOWS AT MOST 10 IN A ROW;

CREATE QUERY udp_packets AS
SELECT count(*) AS packets
FROM packets
WHERE proto = 17
GROUP BY window(timestamp, '1 minute', '10 seconds');
