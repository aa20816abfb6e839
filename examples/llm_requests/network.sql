-- Requests to a language model, by tenant, into a table of Postgres: the network of network.yaml as SQL.
--
--   streamshed validate examples/llm_requests/network.sql
--   streamshed run examples/llm_requests/network.sql

CREATE STREAM requests (
  ts timestamp, tenant string, context_tokens bigint, generated_tokens bigint
)
WATERMARK FOR ts AS ts - INTERVAL '5' SECONDS
WITH (folder = '../../out/llm_requests/in');

CREATE QUERY usage AS
SELECT tenant, count(*) AS requests, sum(context_tokens + generated_tokens) AS tokens
FROM requests
GROUP BY window(ts, '1 minute'), tenant
ON OVERLOAD SAMPLE WITHIN 5 PERCENT AT 95 PERCENT WEIGHT 3;

CREATE QUERY long_requests AS
SELECT count(*) AS requests, sum(generated_tokens) AS generated
FROM requests
WHERE context_tokens >= 4000
GROUP BY window(ts, '5 minutes', '1 minute');

CREATE QUERY generated AS
SELECT percentile_approx(generated_tokens, 0.5) AS median, percentile_approx(generated_tokens, 0.95) AS p95
FROM requests
GROUP BY window(ts, '1 minute');

CREATE QUERY longest AS
SELECT tenant, max(context_tokens) AS context
FROM requests
GROUP BY window(ts, '1 minute'), tenant
ON OVERLOAD DROP WINDOWS AT MOST '10 minutes' IN A ROW BY GROUP;

-- PGHOST, PGUSER, PGPASSWORD and PGDATABASE say where.
SET trigger = '2 seconds', latency = '5 seconds', checkpoint = '../../out/llm_requests/checkpoint',
  sink = (postgres = 'request_answers');
