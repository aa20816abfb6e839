"""What taxis earn, minute by minute, into a table of Delta Lake: the network of `network.yaml` in Python.

python examples/taxi_fares/network.py "$(scripts/jars.sh delta)"
"""

import sys
from pathlib import Path

import streamshed as ss
from streamshed.spark import delta_sink, local_session

OUT = Path(__file__).parents[2] / "out/taxi_fares"
DELTA = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}


def fares() -> ss.QueryNetwork:
    """Return the queries over the rides in the folder."""
    source = ss.folder(
        OUT / "in",
        "parquet",
        schema="ts timestamp, vendor_id string, payment_type string, tip_amount double, tolls_amount double,"
        " total_amount double",
    )
    rides = ss.stream("rides", source, time="ts", watermark="5 seconds")
    # The longest rides and typing errors would hide all others.
    plausible = rides.filter("total_amount BETWEEN 2.5 AND 500")
    by_card = plausible.filter("payment_type = 'CRD'")
    last_minute = plausible.window("1 minute", every="10 seconds")
    return ss.network(
        last_minute.agg(rides="count(*)", revenue="sum(total_amount)").query("revenue", max_error="2 %", weight=2),
        by_card.window("5 minutes", every="1 minute")
        .by("vendor_id")
        .agg(tip_share="sum(tip_amount) / sum(total_amount)")
        .query("tips"),
        plausible.window("5 minutes", every="1 minute").agg(tolls="sum(tolls_amount)").query("tolls", weight=2),
        # It cannot be sampled: windows are dropped, for ten minutes at most.
        plausible.window("1 minute")
        .agg(total="max(total_amount)")
        .query("dearest_ride", mode="subset", max_gap="10 minutes"),
    )


def main(jars: str) -> None:
    """Run it until Ctrl-C, with the connector to Delta Lake from these jars."""
    network, sink = fares(), delta_sink(str(OUT / "answers"))
    with (
        local_session("taxi_fares", options={"spark.jars": jars, **DELTA}) as spark,
        network.start(spark, checkpoint=OUT / "checkpoint", sink=sink, trigger="2 seconds", latency="5 seconds") as run,
    ):
        run.await_termination()


if __name__ == "__main__":
    main(sys.argv[1])
