"""What the user asks for: streams, operators, windows, queries and the network they form. No Spark."""
