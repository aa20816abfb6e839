"""Which rows match: by equal keys, by sets, by any predicate."""
