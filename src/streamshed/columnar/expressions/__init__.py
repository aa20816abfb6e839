"""A closed subset of Spark SQL over one row, evaluated on Arrow columns bit for bit as Spark does, or left to it."""
