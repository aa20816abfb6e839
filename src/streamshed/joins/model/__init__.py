"""What a join is: sides, conditions, windows, and its rows as arrays."""
