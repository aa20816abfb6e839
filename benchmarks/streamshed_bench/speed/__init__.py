"""How fast: rows per second, overhead, a burst, plans of many queries."""
