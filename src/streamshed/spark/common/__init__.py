"""What every room may use: names of columns, failures, keys of groups, one trick of Spark's per file."""
