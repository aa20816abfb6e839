"""Where rows come from, described without Spark, and what tells them apart: folders, tables, topics, DataFrames."""
