"""How a network runs on Spark: the only package that imports pyspark."""
