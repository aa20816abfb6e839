"""Requests to a language model, by tenant, into a table of Postgres: the network of `network.yaml` in Python.

python examples/llm_requests/network.py
"""

from pathlib import Path

import streamshed as ss
from streamshed.spark import local_session, postgres_sink

OUT = Path(__file__).parents[2] / "out/llm_requests"


def usage() -> ss.QueryNetwork:
    """Return the queries over the requests in the folder."""
    source = ss.folder(
        OUT / "in",
        "parquet",
        schema="ts timestamp, tenant string, context_tokens bigint, generated_tokens bigint",
    )
    requests = ss.stream("requests", source, time="ts", watermark="5 seconds")
    long, minutes = requests.filter("context_tokens >= 4000"), requests.window("1 minute")
    by_tenant = minutes.by("tenant")
    return ss.network(
        by_tenant.agg(requests="count(*)", tokens="sum(context_tokens + generated_tokens)").query(
            "usage", max_error="5 %", weight=3
        ),
        long.window("5 minutes", every="1 minute")
        .agg(requests="count(*)", generated="sum(generated_tokens)")
        .query("long_requests"),
        minutes.agg(median="median(generated_tokens)", p95="percentile_approx(generated_tokens, 0.95)").query(
            "generated"
        ),
        # It cannot be sampled: tenants miss windows in turn, for ten minutes at most.
        by_tenant.agg(context="max(context_tokens)").query(
            "longest", mode="subset", gaps_by="group", max_gap="10 minutes"
        ),
    )


def main() -> None:
    """Run it until Ctrl-C; PGHOST, PGUSER, PGPASSWORD and PGDATABASE say where the table is."""
    network, sink = usage(), postgres_sink("request_answers")
    with (
        local_session("llm_requests") as spark,
        network.start(spark, checkpoint=OUT / "checkpoint", sink=sink, trigger="2 seconds", latency="5 seconds") as run,
    ):
        run.await_termination()


if __name__ == "__main__":
    main()
