"""One partition of a join: rows in, results out."""
