"""The way of rows by columns: Python tasks sum up rows before Spark sees them one by one."""
