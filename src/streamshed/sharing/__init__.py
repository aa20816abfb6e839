"""What the queries of a network have in common: resolved columns, shared slices, sharing classes."""
