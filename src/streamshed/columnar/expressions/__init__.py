"""A closed subset of Spark SQL over one row, evaluated on Arrow arrays as Spark would, or left to Spark."""
