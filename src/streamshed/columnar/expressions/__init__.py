"""A closed subset of Spark SQL over one row, evaluated on Arrow arrays bit for bit as Spark does.

`compiled.py` is what others call. What it does not answer it leaves to Spark: an expression outside the subset when it
is compiled (`Untranslatable`), rows whose answer is not sure when it is evaluated (`Unsure`).
"""
