"""One join on Spark: rows packed by partition, joined in a stage of their own, unpacked."""
