"""What the nodes of a network are made of: windows, aggregates, functions, goals, gaps, conditions of joins."""
