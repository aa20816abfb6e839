CREATE STREAM bid (
  auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING, date_time TIMESTAMP, extra STRING,
  WATERMARK FOR date_time AS date_time - INTERVAL '4' SECOND
) WITH (folder = '/data/bid', format = 'parquet');
CREATE STREAM auction (
  id BIGINT, item_name STRING, initial_bid BIGINT, date_time TIMESTAMP, expires TIMESTAMP, seller BIGINT, category BIGINT,
  WATERMARK FOR date_time AS date_time - INTERVAL '4' SECOND
) WITH (folder = '/data/auction', format = 'parquet');
CREATE STREAM person (
  id BIGINT, name STRING, city STRING, state STRING, date_time TIMESTAMP,
  WATERMARK FOR date_time AS date_time - INTERVAL '4' SECOND
) WITH (folder = '/data/person', format = 'parquet');
CREATE TABLE side_input (key BIGINT, value STRING) WITH (path = 'side_input.csv');
