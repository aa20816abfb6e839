"""Which comparisons are made within a budget: the policies ([G05] §5)."""
