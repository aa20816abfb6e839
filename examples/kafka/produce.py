"""Makes the topics of network.yaml, and sends packets: so many a second, for so many seconds.

python examples/kafka/produce.py ROWS_PER_SECOND SECONDS ["$(scripts/jars.sh kafka)"]

Without the jars of the connector, Spark fetches them.
"""

import sys
import time

from pyspark.sql import SparkSession

from streamshed.spark import local_session

SERVERS = "127.0.0.1:19092"
CONNECTOR = "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0"
PACKETS = """
    to_json(struct(
        date_format(current_timestamp(), "yyyy-MM-dd'T'HH:mm:ss.SSSX") AS ts,
        IF(rand() < 0.8, 6, 17) AS proto,
        element_at(array(80, 443, 25, 22, 53), 1 + int(rand() * 5)) AS dest_port,
        40 + int(rand() * 1460) AS size
    )) AS value
"""


def make_topics(spark: SparkSession) -> None:
    """Make both topics unless they are there; that of answers keeps the latest record of each key."""
    java = spark.sparkContext._jvm  # noqa: SLF001 - Kafka's client, which the connector brings
    kafka, settings = java.org.apache.kafka.clients.admin, java.java.util.Properties()
    settings.put("bootstrap.servers", SERVERS)
    client = kafka.AdminClient.create(settings)
    there = client.listTopics().names().get()
    topics = java.java.util.ArrayList()
    for name, policy in (("packets", "delete"), ("answers", "compact")):
        if not there.contains(name):
            topics.add(kafka.NewTopic(name, 4, 1).configs({"cleanup.policy": policy}))
    client.createTopics(topics).all().get()
    client.close()


def main() -> None:
    """Send packets, once a second those of a second."""
    rows_per_second, seconds = int(sys.argv[1]), int(sys.argv[2])
    connector = {"spark.jars": sys.argv[3]} if len(sys.argv) > 3 else {"spark.jars.packages": CONNECTOR}
    with local_session("producer", options=connector) as spark:
        make_topics(spark)
        for _ in range(seconds):
            due = time.monotonic() + 1.0
            packets = spark.range(rows_per_second).selectExpr(PACKETS)
            writer = packets.write.format("kafka").option("kafka.bootstrap.servers", SERVERS)
            writer.option("topic", "packets").save()
            time.sleep(max(0.0, due - time.monotonic()))


if __name__ == "__main__":
    main()
